"""Identifiers replaced by stable stand-ins, and put back from a map that stays at home."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpuvet_evals.audit.leaks import scan_identifiers
from gpuvet_evals.cli import main
from gpuvet_evals.errors import UnreadableTree
from gpuvet_evals.journal_writer import JournalWriter
from gpuvet_evals.redact import Redactor, read_map

ACCOUNT = "2222" + "3333" + "4444"  # none of the examples, which are kept
NODE = "i-0123456789abcdef9"
REPLY = {
    ACCOUNT: {
        "InstanceId": NODE,
        "PrivateIpAddress": "10.2.0.11",
        "KeyName": "janes-key",
        "Arn": f"arn:aws:iam::{ACCOUNT}:user/jane.doe",
        "Mac": "0a:1b:2c:3d:4e:5f",
        "Kept": ["us-east-2", "i-0a1b2c3d4e5f60011", "/aws/x-202610020905"],
    }
}


def journal() -> str:
    run = JournalWriter().user(f"What of {NODE}?").use("gather_context", {}, call="g")
    run.summary(json.dumps(REPLY)).summary("key AKIAABCDEFGHIJKLMNOP", call="s2")
    return run.final(f"{NODE} on ip-10-2-0-11 of {ACCOUNT}, by jane.doe").text()


def test_a_redacted_journal_gives_nothing_away_and_stays_a_journal() -> None:
    redacted = Redactor().redact(journal())

    for original in (ACCOUNT, NODE, "10.2.0.11", "10-2-0-11", "jane", "0a:1b:2c", "AKIAABC"):
        assert original not in redacted
    for kept in ("us-east-2", "i-0a1b2c3d4e5f60011", "202610020905"):
        assert kept in redacted
    assert list(scan_identifiers(redacted)) == []
    assert len(json.loads(redacted)) == len(json.loads(journal()))


def test_the_same_original_has_the_same_stand_in_everywhere() -> None:
    first = Redactor()
    one, two = first.redact(journal()), first.redact(f"node {NODE}")
    later = read_map(json.dumps(first.to_json()))

    assert two.removeprefix("node ") in one
    assert later.redact(journal()) == one


def test_the_map_puts_all_but_secrets_back() -> None:
    redactor = Redactor()
    text = journal().replace("AKIAABCDEFGHIJKLMNOP", "none")

    assert redactor.restore(redactor.redact(text)) == text
    assert "AKIA" not in json.dumps(redactor.to_json())


def test_more_nodes_than_documentation_ids_get_numbers() -> None:
    nodes = [f"i-{number:017x}" for number in range(1, 30)]
    redactor = Redactor()

    redacted = redactor.redact(" ".join(nodes))

    assert len(set(redacted.split())) == len(nodes)
    assert list(scan_identifiers(redacted)) == []
    assert redactor.restore(redacted) == " ".join(nodes)


def test_words_of_every_text_are_no_names() -> None:
    text = '{"UserName": "root"} the root cause of arn:aws:iam::123456789012:user/ubuntu'

    assert Redactor().redact(text) == text


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from([ACCOUNT, NODE, "10.2.0.11", "x", "i-0a1b2c3d4e5f60011", "é\n"])))
def test_any_text_comes_back(parts: list[str]) -> None:
    redactor = Redactor()
    text = f"account {ACCOUNT} " + " ".join(parts)
    redactor.reserve(text)

    assert redactor.restore(redactor.redact(text)) == text


def test_a_folder_goes_out_and_comes_back(tmp_path: Path) -> None:
    source, out, back = tmp_path / "in", tmp_path / "out", tmp_path / "back"
    source.mkdir()
    (source / "one.json").write_text(
        journal().replace("AKIAABCDEFGHIJKLMNOP", "none"), encoding="utf-8"
    )
    (source / "two.md").write_text(
        f"i-1234567890abcdef0 and account of {NODE}: {ACCOUNT}\r\n", encoding="utf-8"
    )
    arguments = ["--map", str(tmp_path / "map.json")]

    assert main(["redact", str(source), "--to", str(out), *arguments]) == 0
    assert main(["redact", str(out), "--to", str(back), *arguments, "--undo"]) == 0

    assert ACCOUNT not in (out / "two.md").read_text(encoding="utf-8")
    for path in source.iterdir():
        assert (back / path.name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("text", ["{", "[]", '{"form": "other"}'])
def test_a_foreign_map_is_refused(text: str) -> None:
    with pytest.raises(UnreadableTree):
        read_map(text)


def test_undo_needs_the_map(tmp_path: Path) -> None:
    arguments = ["redact", str(tmp_path), "--to", str(tmp_path / "x"), "--map", "none", "--undo"]

    assert main(arguments) == 2
