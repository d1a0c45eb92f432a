"""The Claude Code plugin: the skill and how to start the server, as files below skill/plugin/."""

import json
from collections.abc import Mapping
from types import MappingProxyType

from gpuvet.hosts.skill import skill_files
from gpuvet.hosts.words import AUTHOR, KEYWORDS, LICENSE, NAME, SUMMARY, VERSION

FOLDER = "skill/plugin"
MARKETPLACE = ".claude-plugin/marketplace.json"


def plugin_files() -> Mapping[str, str]:
    """Return the text of every file of the plugin and its marketplace, by path in the checkout."""
    skill = {f"{FOLDER}/skills/{NAME}/{name}": text for name, text in skill_files().items()}
    return MappingProxyType(
        {
            MARKETPLACE: as_json(_marketplace()),
            f"{FOLDER}/.claude-plugin/plugin.json": as_json(_plugin()),
            f"{FOLDER}/.mcp.json": as_json(
                {"mcpServers": {NAME: {"command": NAME, "args": ["serve"]}}}
            ),
            **skill,
        }
    )


def _plugin() -> dict[str, object]:
    return {
        "name": NAME,
        "version": VERSION,
        "description": SUMMARY,
        "author": {"name": AUTHOR},
        "license": LICENSE,
        "keywords": list(KEYWORDS),
    }


def _marketplace() -> dict[str, object]:
    return {
        "name": NAME,
        "description": SUMMARY,
        "owner": {"name": AUTHOR},
        "plugins": [
            {
                "name": NAME,
                "source": f"./{FOLDER}",
                "version": VERSION,
                "description": SUMMARY,
                "license": LICENSE,
                "keywords": list(KEYWORDS),
            }
        ],
    }


def as_json(value: object) -> str:
    """Return JSON as it is committed."""
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"
