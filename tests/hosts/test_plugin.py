"""The Claude Code plugin and its marketplace: current, whole, and valid to Claude Code itself."""

import json
from pathlib import Path

import pytest
from host_tools import run_tool

from gpuvet import __version__
from gpuvet.hosts.files import host_files, stale_files, write_files
from gpuvet.hosts.skill import skill_faults
from gpuvet.tools.table import TOOLS

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "skill" / "plugin"


def test_every_generated_file_of_the_packages_is_current() -> None:
    assert stale_files(ROOT) == ()


def test_a_file_that_is_stale_missing_or_left_over_is_named_and_mended(tmp_path: Path) -> None:
    assert set(write_files(tmp_path)) == set(host_files())
    assert stale_files(tmp_path) == ()
    (tmp_path / "skill/plugin/.mcp.json").write_text("{}", encoding="utf-8")
    (tmp_path / ".claude-plugin/marketplace.json").unlink()
    (tmp_path / "skill/plugin/old.md").write_text("old", encoding="utf-8")
    named = (
        ".claude-plugin/marketplace.json",
        "skill/plugin/.mcp.json",
        "skill/plugin/old.md",
    )
    assert stale_files(tmp_path) == named
    assert write_files(tmp_path) == named
    assert stale_files(tmp_path) == ()


def test_the_plugin_starts_the_server_and_carries_the_skill() -> None:
    server = json.loads((PLUGIN / ".mcp.json").read_text(encoding="utf-8"))
    assert server == {"mcpServers": {"gpuvet": {"command": "gpuvet", "args": ["serve"]}}}
    assert skill_faults(PLUGIN / "skills" / "gpuvet") == ()
    manifest = json.loads((PLUGIN / ".claude-plugin/plugin.json").read_text(encoding="utf-8"))
    assert (manifest["name"], manifest["version"]) == ("gpuvet", __version__)
    assert manifest["author"] == {"name": "the gpuvet authors"}


def test_the_marketplace_offers_the_plugin_of_this_checkout() -> None:
    market = json.loads((ROOT / ".claude-plugin/marketplace.json").read_text(encoding="utf-8"))
    (offered,) = market["plugins"]
    assert (ROOT / offered["source"] / ".claude-plugin" / "plugin.json").is_file()
    assert offered["version"] == __version__


def test_tool_names_fit_claude_codes_limit_with_the_plugins_prefix() -> None:
    assert max(len(f"mcp__plugin_gpuvet_gpuvet__{row.name}") for row in TOOLS) <= 128


@pytest.mark.parametrize("what", ["skill/plugin", "."])
def test_claude_code_finds_them_valid(what: str, tmp_path: Path) -> None:
    done = run_tool("claude", "plugin", "validate", what, home=tmp_path)
    assert "Validation passed" in done.stdout, done.stdout + done.stderr
    assert done.returncode == 0
