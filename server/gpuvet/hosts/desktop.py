"""The Claude Desktop bundle (.mcpb): our source, what it needs by exact version, and a manifest.

Its kind is `uv`: nothing of others lies in it; uv installs the pinned versions at the first start.
"""

import re
import sys
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from gpuvet.assets import assets_root
from gpuvet.hosts.archive import zip_bytes
from gpuvet.hosts.icon import icon_png
from gpuvet.hosts.plugin import as_json
from gpuvet.hosts.words import AUTHOR, KEYWORDS, LICENSE, LONG, NAME, SUMMARY, TITLE, VERSION
from gpuvet.tools.table import TOOLS
from gpuvet.tools.tool import definitions

MANIFEST_VERSION = "0.4"  # the first with server.type "uv"
ENTRY = f"server/{NAME}/__main__.py"
_FIRST_SENTENCE = re.compile(r".*?[.:](?=\s|$)", re.DOTALL)


def manifest() -> dict[str, Any]:
    """Return manifest.json."""
    return {
        "manifest_version": MANIFEST_VERSION,
        "name": NAME,
        "display_name": TITLE,
        "version": VERSION,
        "description": SUMMARY,
        "long_description": LONG,
        "author": {"name": AUTHOR},
        "license": LICENSE,
        "keywords": list(KEYWORDS),
        "icon": "icon.png",
        "server": _server(),
        "tools": [
            {
                "name": row.name,
                "description": _first_sentence(definitions()[row.name]["description"]),
            }
            for row in TOOLS
        ],
        "tools_generated": False,
        "prompts_generated": True,
        "compatibility": {
            "platforms": ["darwin", "win32", "linux"],
            "runtimes": {"python": ">=3.11"},
        },
        "user_config": _USER_CONFIG,
    }


def _server() -> dict[str, Any]:
    return {
        "type": "uv",
        "entry_point": ENTRY,
        "mcp_config": {
            "command": "uv",
            "args": [
                *("run", "--directory", "${__dirname}", "--no-dev"),
                *("python", "-m", NAME, "serve"),
            ],
            "env": {
                "PYTHONPATH": "${__dirname}/server",
                "AWS_PROFILE": "${user_config.profile}",
                "AWS_REGION": "${user_config.region}",
            },
        },
    }


_USER_CONFIG: dict[str, Any] = {
    "profile": {
        "type": "string",
        "title": "AWS profile",
        "description": "A profile of ~/.aws/config that may read; empty for the default.",
        "required": False,
        "default": "",
    },
    "region": {
        "type": "string",
        "title": "AWS region",
        "description": "Where the clusters are, e.g. us-west-2.",
        "required": True,
        "default": "us-east-1",
    },
}


def _first_sentence(text: str) -> str:
    found = _FIRST_SENTENCE.match(text)
    return " ".join((found.group(0) if found else text).split())


def pinned_project(constraints: Mapping[str, str], needs: Iterable[str]) -> str:
    """Return the bundle's pyproject.toml.

    Args:
        constraints: Exact version by distribution, names normalised.
        needs: What gpuvet itself asks for, as its own pyproject says.
    """
    names = sorted(normalised(re.split(r"[\s<>=!~;\[]", need, maxsplit=1)[0]) for need in needs)
    exact = [f'  "{name}=={constraints[name]}",' for name in names]
    others = [f'  "{name}=={version}",' for name, version in sorted(constraints.items())]
    return "\n".join(
        [
            "[project]",
            f'name = "{NAME}-bundle"',
            f'version = "{VERSION}"',
            'requires-python = ">=3.11"',
            *("dependencies = [", *exact, "]"),
            "",
            "[tool.uv]",
            "package = false",
            *("constraint-dependencies = [", *others, "]"),
            "",
        ]
    )


def normalised(name: str) -> str:
    """Return a distribution's name as indexes compare it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read_constraints(text: str) -> dict[str, str]:
    """Return exact versions by normalised name."""
    rows = (line.partition("==") for line in text.splitlines() if "==" in line)
    return {normalised(name.strip()): version.strip() for name, _, version in rows}


def bundle_files(checkout: Path) -> dict[str, bytes]:
    """Return every file of the bundle by its path in it.

    Args:
        checkout: Holds pyproject.toml and constraints.txt.
    """
    project = tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))
    constraints = read_constraints((checkout / "constraints.txt").read_text(encoding="utf-8"))
    package = Path(__file__).parents[1]
    assets = assets_root()
    return {
        "manifest.json": as_json(manifest()).encode(),
        "icon.png": icon_png(),
        "pyproject.toml": pinned_project(constraints, project["project"]["dependencies"]).encode(),
        "LICENSE": (checkout / "LICENSE").read_bytes(),
        ".mcpbignore": b".venv\n__pycache__\nuv.lock\n",
        **_below(package, f"server/{NAME}", skip=("__pycache__", "_assets")),
        **_below(assets / "references", "references"),
        "skill/SKILL.md": (assets / "skill" / "SKILL.md").read_bytes(),
    }


def write_bundle(checkout: Path, target: Path) -> None:
    """Write the bundle as one file; the same bytes every time."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(zip_bytes(bundle_files(checkout)))


def _below(folder: Path, name: str, *, skip: tuple[str, ...] = ()) -> dict[str, bytes]:
    return {
        f"{name}/{path.relative_to(folder).as_posix()}": path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not set(path.relative_to(folder).parts) & set(skip)
    }


if __name__ == "__main__":
    write_bundle(Path.cwd(), Path(sys.argv[1]))
