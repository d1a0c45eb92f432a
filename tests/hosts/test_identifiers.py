"""Nothing real is published: every id in the skill, references and evals is an invented one."""

from pathlib import Path

import pytest

from gpuvet.cli import main
from gpuvet.errors import UsageError
from gpuvet.hosts.identifiers import identifiers, read_allowed, scan

ROOT = Path(__file__).parents[2]
LIST = ROOT / "server" / "packaging" / "invented-ids.txt"
OF_EVALS = ROOT / "evals" / "allowed-identifiers.json"
STRANGER = "9999" + "88887777"  # in parts: no whole account of somebody stands here
PUBLISHED = [ROOT / "skill", ROOT / "references", ROOT / "evals"]


def test_every_id_that_is_published_is_on_the_list_of_invented_ones() -> None:
    allowed = read_allowed(LIST) | read_allowed(OF_EVALS)
    unlisted = [f"{one.identifier} in {one.place}" for one in scan(PUBLISHED, allowed)]
    assert unlisted == [], f"name each in {LIST.name}, with what it is invented for"


def test_the_list_names_nothing_that_is_not_published() -> None:
    found = scan(PUBLISHED, {})
    published = {one.identifier for one in found if OF_EVALS.name not in one.place}
    assert sorted(set(read_allowed(LIST)) - published) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(f"arn:aws:iam::{STRANGER}:role/x", STRANGER, id="an account in an ARN"),
        pytest.param(f'"OwnerId": "{STRANGER}"', STRANGER, id="an owner"),
        pytest.param(f"account_id={STRANGER}", STRANGER, id="an account by name"),
        pytest.param("node i-0fffffffffffffff1 died", "i-0fffffffffffffff1", id="an instance"),
        pytest.param("fs-0fedcba987654321f", "fs-0fedcba987654321f", id="a file system"),
        pytest.param("cr-0fedcba987654321f", "cr-0fedcba987654321f", id="a reservation"),
        pytest.param("ip-10-1-2-3 kernel:", "ip-10-1-2-3", id="a host"),
        pytest.param("from 8.8.4.4 to", "8.8.4.4", id="a public address"),
        pytest.param("AKIA" + "ABCDEFGHIJKLMNOP", "AKIAABCDEFGHIJKLMNOP", id="a key"),
        pytest.param("ask jane.doe@corp.com", "jane.doe@corp.com", id="a person"),
    ],
)
def test_each_kind_of_id_is_seen(text: str, expected: str) -> None:
    assert [one for _, one, _ in identifiers(text)] == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "arn:aws:iam::111122223333:role/x",
        "account 123456789012",
        "i-…",
        "version 1.2.3.4.5",
        "10.0.0.1 and 192.168.1.1 and 203.0.113.7",
        "jane@example.com",
        "epoch 173289600000 ms",
    ],
)
def test_what_belongs_to_everybody_is_none(text: str) -> None:
    assert list(identifiers(text)) == []


def test_a_planted_id_is_found_with_its_place(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("fine\nnode i-0fffffffffffffff1\n", encoding="utf-8")
    assert main(["skill", "scan", str(tmp_path)]) == 1
    (found,) = scan([tmp_path], {})
    assert found.place == f"{page.as_posix()}:2"
    assert scan([tmp_path], {"i-0fffffffffffffff1": "for this test"}) == ()


def test_a_folder_that_is_not_there_is_not_clean(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="not there"):
        scan([tmp_path / "gone"], {})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("list.txt", "# a list\ni-0fffffffffffffff1\n"),
        ("list.json", '{"i-0fffffffffffffff1": ""}'),
    ],
)
def test_an_id_is_listed_with_what_it_is_invented_for(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="i-0fffffffffffffff1 is listed without what"):
        read_allowed(path)
    path.write_text("[", encoding="utf-8")
    if name.endswith("json"):
        with pytest.raises(UsageError, match="cannot be read"):
            read_allowed(path)
