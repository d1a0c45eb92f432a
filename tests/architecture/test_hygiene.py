"""Nothing real in the repository: no account, no machine, no registry."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# The last but one stands in shared journals: an account of somebody else, invented, to be found.
EXAMPLE_ACCOUNTS = {
    *("111122223333", "123456789012", "012345678901"),
    *("444455556666", "000000000000"),
}
ACCOUNT_IN_ARN = re.compile(r"arn:aws[a-z-]*:[a-z0-9-]*:[a-z0-9-]*:(\d{12}):")
ACCOUNT_NAMED = re.compile(
    r"(?i)(?:account(?:_?id)?|OwnerId|recipientAccountId)[\"']?\s*[:=]\s*[\"']?(\d{12})\b"
)
REGISTRY = re.compile(
    r"(?i)(?:files\.pythonhosted|pypi\.org|pypi\.python|registry\.npmjs|npmjs\.org|deb\.debian"
    r"|crates\.io/api|conda\.anaconda|registry\.yarnpkg|ghcr\.io/|docker\.io/library)"
)
MACHINE = re.compile(r"(?:/work/|/root/|/home/[a-z]|/Users/[a-z]|[A-Z]:\\\\Users\\\\[a-z])")
SECRET = re.compile(r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b")


def tracked() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True
    ).stdout.decode("utf-8")
    return [ROOT / name for name in listed.split("\0") if name and (ROOT / name).is_file()]


def texts() -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for path in tracked():
        raw = path.read_bytes()
        if b"\0" in raw[:4096]:
            continue
        found.append((path.relative_to(ROOT).as_posix(), raw.decode("utf-8", "replace")))
    return found


THIS = "tests/architecture/test_hygiene.py"
# Tests of the masking and of hostile input hold what they look for, built from parts or escaped.
MACHINE_ALLOWED = ("tests/",)


def test_every_account_is_an_example_account() -> None:
    real = [
        f"{name}: {account}"
        for name, text in texts()
        for pattern in (ACCOUNT_IN_ARN, ACCOUNT_NAMED)
        for account in pattern.findall(text)
        if account not in EXAMPLE_ACCOUNTS and name != THIS
    ]
    assert real == []


@pytest.mark.parametrize(
    ("pattern", "spared"),
    [
        pytest.param(REGISTRY, (), id="no registry host"),
        pytest.param(MACHINE, MACHINE_ALLOWED, id="no machine path"),
        pytest.param(SECRET, ("tests/",), id="no access key"),
    ],
)
def test_nothing_of_a_machine_is_written_down(
    pattern: re.Pattern[str], spared: tuple[str, ...]
) -> None:
    found = [
        f"{name}: {match.group(0)}"
        for name, text in texts()
        if name != THIS and not name.startswith(spared or ("\0",))
        for match in pattern.finditer(text)
    ]
    assert found == []


def test_the_package_carries_its_licence_and_typing_marker() -> None:
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").lstrip().startswith("Apache License")
    assert (ROOT / "server/gpuvet/py.typed").exists()
