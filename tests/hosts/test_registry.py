"""server.json against the registry's rules, without asking the registry."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from gpuvet import __version__
from gpuvet.hosts.registry import OWNER, entry, entry_faults

ROOT = Path(__file__).parents[2]


def test_the_committed_entry_keeps_the_rules() -> None:
    committed = json.loads((ROOT / "server/packaging/server.json").read_text(encoding="utf-8"))
    assert committed == entry()
    assert entry_faults(committed) == ()


def test_it_names_this_version_and_starts_the_server() -> None:
    (package,) = entry()["packages"]
    assert (entry()["version"], package["version"]) == (__version__, __version__)
    assert (package["registryType"], package["identifier"]) == ("pypi", "gpuvet")
    assert [one["value"] for one in package["packageArguments"]] == ["serve"]


def test_no_owner_is_invented_until_one_publishes() -> None:
    assert entry()["name"] == f"io.github.{OWNER}/gpuvet"
    assert "repository" not in entry()
    assert entry("octo-cat")["name"] == "io.github.octo-cat/gpuvet"


def changed(path: str, value: object) -> dict[str, Any]:
    """Return the entry with one member set; path parts are joined by dots."""
    found = copy.deepcopy(entry())
    *folders, last = path.split(".")
    place: Any = found
    for part in folders:
        place = place[int(part)] if part.isdigit() else place[part]
    place[last] = value
    return found


BREAKS: list[tuple[str, object, str]] = [
    ("name", "gpuvet", "one slash"),
    ("name", "a/b/c", "one slash"),
    ("description", "d" * 101, "description"),
    ("description", "", "description"),
    ("title", "t" * 101, "title"),
    ("version", "^1.2.3", "exact"),
    ("version", "1.x", "exact"),
    ("version", "latest", "exact"),
    ("version", "", "version"),
    ("$schema", "https://example.com/x", "schema"),
    ("packages", {}, "no list"),
    ("packages.0.registryType", "cargo", "registryType"),
    ("packages.0.identifier", "", "identifier"),
    ("packages.0.version", ">=0.1", "exact"),
    ("packages.0.transport", {"type": "pipe"}, "transport"),
    ("packages.0.transport", {"type": "streamable-http"}, "url"),
    ("packages.0.environmentVariables", [{}], "environment variable"),
    ("packages.0.packageArguments", [{"type": "named"}], "argument"),
]


@pytest.mark.parametrize(("path", "value", "fault"), BREAKS)
def test_each_rule_of_the_registry_can_fail(path: str, value: object, fault: str) -> None:
    faults = entry_faults(changed(path, value))
    assert any(fault in told for told in faults), faults


def test_what_is_no_entry_at_all_is_said_so() -> None:
    assert entry_faults([]) == ("it is no object",)
