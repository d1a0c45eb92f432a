"""Who is let in: hosts, origins and tokens, without a socket."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpuvet.errors import UsageError
from gpuvet.web.admission import header_map, is_bearer, is_named, is_origin, refused
from gpuvet.web.settings import HttpSettings, http_settings, is_loopback, read_token

TOKEN = "correct-horse-battery-staple"


@pytest.mark.parametrize(
    ("host", "allowed", "expected"),
    [
        pytest.param("localhost:8000", (), True, id="the loopback's name with a port"),
        pytest.param("LOCALHOST", (), True, id="in capitals"),
        pytest.param("127.0.0.1", (), True, id="the loopback's address"),
        pytest.param("[::1]:8000", (), True, id="the loopback in IPv6"),
        pytest.param("", (), False, id="no name at all"),
        pytest.param("evil.example", (), False, id="a foreign name"),
        pytest.param("localhost.evil.example", (), False, id="a foreign name that begins alike"),
        pytest.param("evil.example:80@localhost", (), False, id="a name in the user's place"),
        pytest.param("localhost:80:80", (), False, id="two ports"),
        pytest.param("localhost:", (), False, id="a colon without a port"),
        pytest.param("localhost:\uff18\uff10", (), False, id="a port in other digits"),
        pytest.param("[::1", (), False, id="an open bracket"),
        pytest.param("mcp.example.com:443", ("mcp.example.com",), True, id="a given name"),
        pytest.param("mcp.example.com:443", ("mcp.example.com:443",), True, id="with its port"),
        pytest.param("mcp.example.com:80", ("mcp.example.com:443",), False, id="another port"),
        pytest.param("a.b.example", ("*.b.example",), True, id="below a given name"),
        pytest.param("b.example", ("*.b.example",), False, id="the given name itself"),
        pytest.param("ab.example", ("*.b.example",), False, id="a name that only ends alike"),
        pytest.param("anything.example", ("*",), True, id="any, when any is given"),
        pytest.param("", ("*",), False, id="none, even then"),
    ],
)
def test_a_host_is_served_if_it_is_the_loopback_or_was_given(
    host: str, allowed: tuple[str, ...], expected: bool
) -> None:
    assert is_named(host, allowed) is expected


@pytest.mark.parametrize(
    ("origin", "allowed", "expected"),
    [
        pytest.param("http://localhost:3000", (), True, id="a page of this machine"),
        pytest.param("https://[::1]", (), True, id="a page of this machine in IPv6"),
        pytest.param("null", (), False, id="a page of nowhere"),
        pytest.param("https://evil.example", (), False, id="a foreign page"),
        pytest.param("http://localhost.evil.example", (), False, id="one that begins alike"),
        pytest.param("file://localhost", (), False, id="another scheme"),
        pytest.param("https://ui.example", ("https://ui.example",), True, id="a given page"),
        pytest.param("http://ui.example", ("https://ui.example",), False, id="its other scheme"),
    ],
)
def test_a_page_may_call_if_it_is_of_this_machine_or_was_given(
    origin: str, allowed: tuple[str, ...], expected: bool
) -> None:
    assert is_origin(origin, allowed) is expected


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        pytest.param(f"Bearer {TOKEN}", True, id="the token"),
        pytest.param(f"bearer  {TOKEN} ", True, id="the scheme in any case, with blanks"),
        pytest.param(TOKEN, False, id="without a scheme"),
        pytest.param(f"Basic {TOKEN}", False, id="another scheme"),
        pytest.param(f"Bearer {TOKEN[:-1]}", False, id="one character short"),
        pytest.param(f"Bearer {TOKEN}x", False, id="one character long"),
        pytest.param("Bearer", False, id="no token"),
        pytest.param("", False, id="nothing"),
        pytest.param("Bearer \udcff", False, id="bytes that are no text"),
    ],
)
def test_only_the_token_itself_lets_in(header: str, expected: bool) -> None:
    assert is_bearer(header, TOKEN) is expected


@given(st.text(max_size=40))
def test_no_other_text_is_the_token(text: str) -> None:
    assert is_bearer(f"Bearer {text}", TOKEN) is (text.strip() == TOKEN)


def test_a_stranger_learns_neither_the_token_nor_whether_the_host_was_right_first() -> None:
    settings = HttpSettings(host="127.0.0.1", port=0, token=TOKEN)
    wrong = refused({"host": "localhost", "authorization": "Bearer nearly-right-000000"}, settings)
    assert wrong is not None
    assert (wrong.status, TOKEN in wrong.message) == (401, False)
    assert dict(wrong.headers) == {b"www-authenticate": b'Bearer realm="gpuvet"'}
    assert TOKEN not in repr(settings)
    elsewhere = refused({"host": "evil.example", "authorization": f"Bearer {TOKEN}"}, settings)
    assert elsewhere is not None
    assert elsewhere.status == 421


def test_two_lengths_of_one_body_are_none() -> None:
    assert header_map([(b"content-length", b"4"), (b"transfer-encoding", b"chunked")]) is None


@pytest.mark.parametrize("name", ["Host", "origin", "AUTHORIZATION", "content-length"])
def test_a_header_that_decides_must_not_stand_twice(name: str) -> None:
    raw = [(name.encode(), b"1"), (name.lower().encode(), b"2")]
    assert header_map(raw) is None
    assert header_map([(b"accept", b"a"), (b"Accept", b"b")]) == {"accept": "b"}


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.9.10", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.5", False),
        ("::ffff:127.0.0.1", False),
        ("localhost.example", False),
        ("127.1", False),
    ],
)
def test_only_addresses_that_others_cannot_reach_are_the_loopback(
    host: str, expected: bool
) -> None:
    assert is_loopback(host) is expected


def test_an_address_that_others_reach_needs_a_token() -> None:
    for host in ("0.0.0.0", "::", "10.0.0.5", "gpu-head.example"):
        with pytest.raises(UsageError, match="--token-file or GPUVET_HTTP_TOKEN"):
            http_settings(host=host, port=8000, token=None)
        assert http_settings(host=host, port=8000, token=TOKEN).token == TOKEN


def test_the_address_that_is_listened_on_is_a_name_of_the_server() -> None:
    named = http_settings(host="10.0.0.5", port=1, token=TOKEN, hosts=["MCP.example.com"])
    assert named.hosts == ("10.0.0.5", "mcp.example.com")
    assert http_settings(host="fd00::5", port=1, token=TOKEN).hosts == ("[fd00::5]",)
    assert http_settings(host="0.0.0.0", port=1, token=TOKEN).hosts == ()


@pytest.mark.parametrize("port", [-1, 65_536])
def test_a_port_that_is_none_is_refused(port: int) -> None:
    with pytest.raises(UsageError, match="no port"):
        http_settings(host="127.0.0.1", port=port, token=None)


def test_a_token_comes_from_the_file_before_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUVET_HTTP_TOKEN", f" {TOKEN}\n")
    file = tmp_path / "token"
    file.write_text("another-token-of-the-file\n", encoding="utf-8")
    assert read_token(file) == "another-token-of-the-file"
    assert read_token(None) == TOKEN
    monkeypatch.delenv("GPUVET_HTTP_TOKEN")
    assert read_token(None) is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("short", id="too short to resist guessing"),
        pytest.param("two lines of\ntext that are long", id="more than one line"),
        pytest.param("with blanks in the middle", id="blanks"),
        pytest.param("x" * 5000, id="too long"),
        pytest.param("pässwörd-pässwörd-pässwörd", id="no ASCII"),
    ],
)
def test_an_unusable_token_is_refused_without_being_quoted(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GPUVET_HTTP_TOKEN", text)
    with pytest.raises(UsageError) as caught:
        read_token(None)
    assert not text or text not in str(caught.value)
