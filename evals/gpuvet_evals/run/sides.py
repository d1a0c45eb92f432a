"""The sides of an eval, as requests: without and with the skill differ by the skill alone.

Both have the same tools and the same words; only the list of skills is empty or has one entry.
The third side adds gpuvet's own tools to the second. Pure.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from gpuvet_evals.errors import UnreadableTree
from gpuvet_evals.evals_json import Eval
from gpuvet_evals.run.plain_tools import SkillFiles, tool_definitions
from gpuvet_evals.skill_tests import read_skill

Json = dict[str, Any]
SYSTEM_VERSION = "1"  # of the words below; journals of another version are not mixed with these
MAX_OUTPUT = 8_000  # tokens of one reply
_SYSTEM = """\
You are an assistant for people who operate workloads on AWS. You look things up with your tools \
and answer in writing. You can only read: nothing you do changes an account.

The present time is {now}. Account and region of the user: {account}, {region}.

Skills are instructions for kinds of tasks. Where one fits the task, load it with skill_read \
before anything else and follow it.
Skills available:
{skills}

Files the user attached (fs_read): {files}"""
_NO_SKILLS = "(none)"


def skill_files(folder: Path) -> SkillFiles:
    """Read a skill: SKILL.md, and the references it links, inside the folder or beside it.

    Raises:
        UnreadableTree: There is no SKILL.md with a name and a description.
    """
    skill = read_skill(folder)
    name, description = (skill.frontmatter.get(key) for key in ("name", "description"))
    if skill.text is None or not isinstance(name, str) or not isinstance(description, str):
        raise UnreadableTree(f"no SKILL.md with name and description in {str(folder)!r}")
    root = next(
        (r for r in (folder / "references", folder.parent / "references") if r.is_dir()), None
    )
    pages = sorted(path for path in root.iterdir() if path.is_file()) if root else []
    linked = {f"references/{p.name}": p for p in pages if f"references/{p.name}" in skill.body}
    return SkillFiles(
        name=name,
        description=" ".join(description.split()),
        body=skill.text,
        resources={link: path.read_text(encoding="utf-8") for link, path in linked.items()},
    )


def system_prompt(
    *, now: datetime, account: str, region: str, skill: SkillFiles | None, files: Sequence[str]
) -> str:
    """Return the words every side starts from."""
    listed = f"- {skill.name}: {skill.description}" if skill else _NO_SKILLS
    return _SYSTEM.format(
        now=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
        account=account,
        region=region,
        skills=listed,
        files=", ".join(files) or "none",
    )


def opening(eval_: Eval) -> Json:
    """Return the user's first message."""
    return {"role": "user", "content": [{"type": "text", "text": eval_.prompt}]}


def request_of(
    model: str,
    system: str,
    messages: Sequence[Json],
    more_tools: Sequence[Json] = (),
    *,
    max_output: int = MAX_OUTPUT,
) -> Json:
    """Return the next request; what all turns share is marked for the prompt cache."""
    return {
        "model": model,
        "max_tokens": max_output,
        "system": [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}],
        "tools": [*tool_definitions(), *more_tools],
        "messages": [*messages[:-1], _marked(messages[-1])],
    }


def _marked(message: Mapping[str, Any]) -> Json:
    """Return the last message with the cache's mark on its last block."""
    *before, last = message["content"]
    return {**message, "content": [*before, {**last, "cache_control": {"type": "ephemeral"}}]}
