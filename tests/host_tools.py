"""The hosts' own validators, where `make host-tools` has put them."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BIN = ROOT / "build" / "host-tools" / "node_modules" / ".bin"


def run_tool(
    name: str, *words: str, home: Path, timeout: float = 120
) -> "subprocess.CompletedProcess[str]":
    """Run one of them with a home of its own; the test is skipped where it is not installed."""
    path = BIN / name
    if not path.exists():
        pytest.skip("needs the hosts' validators from npm: make host-tools")
    return subprocess.run(
        [str(path), *words],
        capture_output=True,
        encoding="utf-8",
        timeout=timeout,
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(home), "PYTHONPATH": str(ROOT / "server")},
        check=False,
    )
