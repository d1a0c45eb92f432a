"""Which skills a run loaded, how surely, and what that says of the trigger. Pure.

A success without a name proves nothing, and a "Skill not found" is no load.
"""

import re
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import PurePosixPath

from gpuvet.model.base import Value
from gpuvet_evals.calls import ToolCall
from gpuvet_evals.journal import Journal, mapping, mappings

USER_SKILLS = "/aidevops/skills/user/"
_SKILLS = re.compile(r"/aidevops/skills/(user|system)/([A-Za-z0-9._-]+)/(.+)")
_KEBAB = r"[a-z0-9]+(?:-[a-z0-9]+)+"
_NAMED_IN_LABEL = re.compile(rf"\b({_KEBAB})['\"`]? skill\b|\bskill:? ['\"`]?({_KEBAB})\b")
# The block at the start of a skill's file; in a record its line ends may still be escaped.
_FRONTMATTER = re.compile(r"[\s\"'{:a-z\d\\]{0,60}?---[\s\S]{0,400}?\bn?name:\s*([A-Za-z0-9._-]+)")
_NOT_FOUND = re.compile(r"not found:?\s*['\"]?([\w.-]+)")


class LoadProof(StrEnum):
    """How surely a skill was loaded."""

    PROVED = "proved"
    AMBIGUOUS = "ambiguous"  # a success that names nothing
    ERROR = "error"  # tried, and refused


class SkillLoad(Value):
    """One attempt to load a skill, or a resource of it."""

    proof: LoadProof
    name: str | None
    record_id: str
    resource: bool = False  # a file of the skill other than its SKILL.md


class TriggerVerdict(StrEnum):
    """What the loads say of the skill under test."""

    PASS = "pass"  # noqa: S105 - a verdict, no password
    FAIL = "fail"
    UNPROVEN = "unproven"
    NOT_APPLICABLE = "not_applicable"
    CONTAMINATED = "contaminated"


class Trigger(Value):
    """The trigger verdict with the counts behind it."""

    verdict: TriggerVerdict
    named_loads: int
    error_loads: int
    ambiguous_loads: int
    other_skills: tuple[str, ...]


def skill_loads(
    journal: Journal, calls: Sequence[ToolCall], skill: str | None
) -> tuple[SkillLoad, ...]:
    """Return every attempt to load a skill, in order.

    Args:
        journal: The run.
        calls: Its tool calls.
        skill: Name of the skill under test, which labels are searched for.
    """
    loads = [load for call in calls for load in _loads_of(call, skill)]
    named = {load.name for load in loads if load.proof is LoadProof.PROVED and not load.resource}
    loads += [load for load in _bundles(journal) if load.name not in named]
    return tuple(loads)


def judge_trigger(
    loads: Sequence[SkillLoad], *, skill: str | None, with_skill: bool, should_trigger: bool
) -> Trigger:
    """Return what the loads prove of the skill under test, for one side of one eval."""
    mine = [load for load in loads if load.name == skill or load.name is None]
    proved = [load for load in mine if load.proof is LoadProof.PROVED and load.name is not None]
    named = sum(not load.resource for load in proved)
    ambiguous = sum(load.proof is LoadProof.AMBIGUOUS for load in mine)
    if not with_skill:
        verdict = TriggerVerdict.CONTAMINATED if proved else TriggerVerdict.NOT_APPLICABLE
    elif named:
        verdict = TriggerVerdict.PASS if should_trigger else TriggerVerdict.FAIL
    elif ambiguous or proved:
        verdict = TriggerVerdict.UNPROVEN
    else:
        verdict = TriggerVerdict.FAIL if should_trigger else TriggerVerdict.PASS
    others = (load.name for load in loads if load.proof is LoadProof.PROVED)
    return Trigger(
        verdict=verdict,
        named_loads=named,
        error_loads=sum(load.proof is LoadProof.ERROR for load in mine),
        ambiguous_loads=ambiguous,
        other_skills=tuple(dict.fromkeys(n for n in others if n is not None and n != skill)),
    )


def _loads_of(call: ToolCall, skill: str | None) -> Iterator[SkillLoad]:
    if call.tool == "skill_read" or (call.tool is None and call.block_type == "load_skill"):
        yield _skill_read(call, skill)
    elif call.tool == "read_skill_resource" and call.input is not None:
        if call.results and not _refused(call):
            yield _load(call, LoadProof.PROVED, str(call.input.get("skill_id")), resource=True)
    elif call.tool == "fs_read" and call.input is not None:
        path = str(call.input.get("file_path") or call.input.get("path") or "")
        if match := _SKILLS.search(path):
            proof = LoadProof.ERROR if _refused(call) else LoadProof.PROVED
            resource = PurePosixPath(match[3]).name != "SKILL.md"
            if proof is LoadProof.PROVED or not resource:
                yield _load(call, proof, match[2], resource=resource)


def _skill_read(call: ToolCall, skill: str | None) -> SkillLoad:
    name = _named_by(call, skill)
    if _refused(call):
        return _load(call, LoadProof.ERROR, name)
    if name is None or not call.results:
        return _load(call, LoadProof.AMBIGUOUS, name if call.results else None)
    return _load(call, LoadProof.PROVED, name)


def _named_by(call: ToolCall, skill: str | None) -> str | None:
    """Return the skill a load names: by its text, its input, then its label."""
    for result in call.results:
        head = result.head
        if match := _FRONTMATTER.match(head) or _NOT_FOUND.search(head):
            return match[1]
    if call.input is not None and (given := call.input.get("skill_id")):
        return str(given)
    if skill and (skill in call.label or any(skill in r.head for r in call.results)):
        return skill
    match = _NAMED_IN_LABEL.search(call.label)
    return match[1] or match[2] if match else None


def _refused(call: ToolCall) -> bool:
    return any(
        r.status == "error" or r.head.startswith(("Skill not found", "Error")) or r.is_hidden_error
        for r in call.results
    )


def _load(
    call: ToolCall, proof: LoadProof, name: str | None, *, resource: bool = False
) -> SkillLoad:
    return SkillLoad(proof=proof, name=name, record_id=call.record_id, resource=resource)


def _bundles(journal: Journal) -> Iterator[SkillLoad]:
    """Yield the skills an investigation's accounting shows in context, each once."""
    seen: set[str] = set()
    for record in journal.records:
        if record.kind != "utilization" or '"bundles"' not in record.content:
            continue
        skills = mapping(mapping(record.body.get("data")).get("skills"))
        for bundle in mappings(skills.get("bundles")):
            name, used = bundle.get("name"), bundle.get("utilization")
            loaded = isinstance(used, int | float) and used > 0
            if isinstance(name, str) and loaded and name not in seen:
                seen.add(name)
                yield SkillLoad(proof=LoadProof.PROVED, name=name, record_id=record.record_id)
