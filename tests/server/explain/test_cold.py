"""Explaining a code starts at once: nothing is loaded that the answer does not need."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

SERVER = Path(__file__).parents[3] / "server"
ASK = """
import json, sys
from gpuvet.cli import main
code = main(sys.argv[1:])
print("\\n" + json.dumps([code, sorted(sys.modules)]))
"""


def loaded_by(*words: str) -> set[str]:
    """Return the modules that a fresh process holds after a command that ends with 0."""
    ended = subprocess.run(
        (sys.executable, "-c", ASK, *words),
        check=True,
        capture_output=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(SERVER), "PYTHONIOENCODING": "utf-8"},
    )
    code, modules = json.loads(ended.stdout.splitlines()[-1])
    assert code == 0
    return set(modules)


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(("xid", "79"), id="an Xid"),
        pytest.param(("xid", "149", "--format", "markdown"), id="an Xid with a decode sheet"),
        pytest.param(("xid", "sxid", "20034", "--format", "json"), id="an SXid as JSON"),
        pytest.param(("xid", "99999"), id="a code in no list"),
    ],
)
def test_a_code_is_explained_without_pydantic_and_without_the_parsers(
    words: tuple[str, ...],
) -> None:
    loaded = loaded_by(*words)
    assert loaded & {"pydantic", "pydantic_core", "mcp", "boto3", "jinja2", "asyncio"} == set()
    assert {name for name in loaded if name.startswith(("gpuvet.parse", "gpuvet.tools"))} == set()


def test_the_decode_sheet_is_left_closed_where_no_line_is_given() -> None:
    assert "gpuvet.catalog.nvlink5_table" not in loaded_by("xid", "149")
    assert "gpuvet.catalog.nvlink5_table" in loaded_by(
        "xid", "--line", "NVRM: Xid (PCI:0000:53:00): 79, GPU has fallen off the bus."
    )
