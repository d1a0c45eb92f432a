"""Structure and best-practice tests of a skill folder, in the publisher's result files.

STRUCT-01 to 12 and those of BP-01 to 17 that a rule decides; the rest need a judge and are
`skipped` with that reason, never passed. Ids and fields: references/evals.md.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from gpuvet.errors import SpecSyntaxError
from gpuvet.model.base import Value
from gpuvet.parse.yaml_text import load_documents

STRUCTURE_VERSION = 10  # of the published structure tests, whose ids these are
PASSING_SCORE = 100
NEEDS_JUDGE = "Needs a judge; none was asked"
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
_LINK = re.compile(r"\]\(([^)\s#]+)[^)]*\)|`((?:references|assets|scripts)/[^`\s]+)`")
_BODY_LINES, _NAME_LENGTH, _DESCRIPTION, _COMPATIBILITY = 500, 64, 1024, 500


class Skill(Value):
    """A skill folder as read."""

    folder: str
    text: str | None  # of SKILL.md
    body: str
    files: tuple[str, ...]  # relative, with forward slashes
    frontmatter_error: str | None = None
    frontmatter: Mapping[str, Any] = MappingProxyType({})


class SkillTest(Value):
    """One test's outcome: passed, failed or skipped, and why."""

    id: str
    name: str
    result: str
    message: str
    confidence: str | None = None  # of a judge


Verdict = tuple[bool | None, str]  # None: it does not apply


def read_skill(folder: Path) -> Skill:
    """Read SKILL.md and list the folder's files; evals are left out."""
    path = folder / "SKILL.md"
    files = sorted(
        relative.as_posix()
        for file in folder.rglob("*")
        if file.is_file() and (relative := file.relative_to(folder)).parts[0] != "evals"
    )
    if not path.is_file():
        return Skill(folder=folder.resolve().name, text=None, body="", files=tuple(files))
    text = path.read_text(encoding="utf-8", errors="replace").replace("\r\n", "\n")
    head, body, error = _split(text)
    return Skill(
        folder=folder.resolve().name,
        text=text,
        body=body,
        files=tuple(files),
        frontmatter_error=error,
        frontmatter=head,
    )


def as_published(skill: Skill, folder: Path) -> Skill:
    """Return the skill as it is exported, where its references lie beside its folder.

    Then the folder is named after the skill and holds the references that SKILL.md links.
    """
    beside, name = folder.resolve().parent, skill.frontmatter.get("name")
    if not isinstance(name, str) or not (beside / "references").is_dir():
        return skill
    if any(file.startswith("references/") for file in skill.files):
        return skill
    linked = sorted(link for link in _linked(skill) if (beside / link).is_file())
    files = tuple(dict.fromkeys((*skill.files, *linked)))
    return skill.model_copy(update={"folder": name, "files": files})


def structure_tests(skill: Skill) -> tuple[SkillTest, ...]:
    """Return STRUCT-01 to 12."""
    return _outcomes(skill, _STRUCTURE)


def best_practice_tests(skill: Skill) -> tuple[SkillTest, ...]:
    """Return BP-01 to 17; what needs a judge is skipped."""
    return _outcomes(skill, _BEST_PRACTICES)


def structure_json(tests: Sequence[SkillTest], timestamp: str | None) -> dict[str, Any]:
    """Return structure-tests-results-v<N>.json."""
    head = _head(tests, timestamp, "structure")
    return {"version": STRUCTURE_VERSION, **head, "tests": [_test_json(t) for t in tests]}


def best_practices_json(
    tests: Sequence[SkillTest], timestamp: str | None, version: str
) -> dict[str, Any]:
    """Return best-practices-tests-results.json of one iteration."""
    head = _head(tests, timestamp, "best-practices")
    low = sum(test.confidence == "low" for test in tests)
    head["summary"] |= {"errored": 0, "low_confidence": low, "avg_confidence": None}
    return {"version": version, **head, "tests": [_test_json(t) for t in tests]}


def best_practices_benchmark(
    tests: Sequence[SkillTest], timestamp: str | None, version: str
) -> dict[str, Any]:
    """Return the benchmark.json of best practices: one iteration, which a rule repeats exactly."""
    head = _head(tests, timestamp, "best-practices")
    report = {"iteration": 1, "result": head["result"], "score": head["score"], **head["summary"]}
    return {
        "timestamp": timestamp,
        "version": version,
        "model": None,
        "iterations": 1,
        "avg_confidence": None,
        "consistency": {
            "consistency_score": 1.0,
            "reports": [report | {"errored": 0, "low_confidence": 0, "avg_confidence": None}],
            "per_test": [
                {"id": t.id, "name": t.name, "results": [t.result], "consistent": True}
                for t in tests
            ],
        },
    }


def _split(text: str) -> tuple[Mapping[str, Any], str, str | None]:
    """Return frontmatter, body and what is wrong with the first."""
    if not text.startswith("---\n") or "\n---" not in text[3:]:
        return {}, text, "SKILL.md does not start with a block between two lines of ---"
    head, _, rest = text[4:].partition("\n---")
    body = rest.partition("\n")[2]
    try:
        documents = load_documents(head)
    except SpecSyntaxError as error:
        return {}, body, f"line {error.line + 1}: {error}"
    value = documents[0] if documents else None
    if not isinstance(value, Mapping):
        return {}, body, "the block holds no keys"
    return cast("Mapping[str, Any]", value), body, None


def _outcomes(skill: Skill, table: Sequence["Row"]) -> tuple[SkillTest, ...]:
    tests: list[SkillTest] = []
    for identity, name, check in table:
        holds, message = check(skill) if check else (None, NEEDS_JUDGE)
        result = "skipped" if holds is None else "passed" if holds else "failed"
        tests.append(SkillTest(id=identity, name=name, result=result, message=message))
    return tuple(tests)


def _head(tests: Sequence[SkillTest], timestamp: str | None, kind: str) -> dict[str, Any]:
    counts = Counter(test.result for test in tests)
    judged = len(tests) - counts["skipped"]
    score = int(100 * counts["passed"] / judged + 0.5) if judged else 0
    return {
        "timestamp": timestamp,
        "test_type": kind,
        "passing_score": PASSING_SCORE,
        "score": score,
        "result": "passed" if judged and score >= PASSING_SCORE else "failed",
        "summary": {
            "total": len(tests),
            "passed": counts["passed"],
            "failed": counts["failed"],
            "skipped": counts["skipped"],
            "warning": 0,
        },
    }


def _test_json(test: SkillTest) -> dict[str, Any]:
    return {
        **test.model_dump(exclude_none=True),
        "agent_skills_spec_reference": "https://agentskills.io/specification",
    }


def _exists(skill: Skill) -> Verdict:
    return skill.text is not None, "SKILL.md is there" if skill.text else "there is no SKILL.md"


def _is_yaml(skill: Skill) -> Verdict:
    if skill.text is None:
        return False, "there is no SKILL.md"
    return skill.frontmatter_error is None, skill.frontmatter_error or "the frontmatter is YAML"


def _has(key: str) -> Callable[[Skill], Verdict]:
    def check(skill: Skill) -> Verdict:
        value = skill.frontmatter.get(key)
        present = isinstance(value, str) and bool(value.strip())
        return present, f"{key} is {'there' if present else 'missing or empty'}"

    return check


def _text_within(key: str, limit: int) -> Callable[[Skill], Verdict]:
    def check(skill: Skill) -> Verdict:
        value = skill.frontmatter.get(key)
        if key not in skill.frontmatter and key != "description":
            return None, f"no {key}"
        length = len(value) if isinstance(value, str) else 0
        return 0 < length <= limit, f"{key} has {length} characters; 1 to {limit} are allowed"

    return check


def _name_form(skill: Skill) -> Verdict:
    name = str(skill.frontmatter.get("name") or "")
    fits = _NAME.fullmatch(name) is not None and len(name) <= _NAME_LENGTH
    return fits, f"name is {name!r}; a-z, 0-9 and single hyphens, up to {_NAME_LENGTH}"


def _name_is_folder(skill: Skill) -> Verdict:
    name = skill.frontmatter.get("name")
    return name == skill.folder, f"name is {name!r}, the folder {skill.folder!r}"


def _optional_text(key: str) -> Callable[[Skill], Verdict]:
    def check(skill: Skill) -> Verdict:
        if key not in skill.frontmatter:
            return None, f"no {key}"
        value = skill.frontmatter[key]
        return bool(value), f"{key} is {'filled' if value else 'empty'}"

    return check


def _metadata(skill: Skill) -> Verdict:
    if "metadata" not in skill.frontmatter:
        return None, "no metadata"
    value = skill.frontmatter["metadata"]
    if not isinstance(value, Mapping):
        return False, "metadata is no mapping"
    fields = cast("Mapping[str, object]", value)
    wrong = sorted(key for key, item in fields.items() if not isinstance(item, str))
    return not wrong, f"not text: {', '.join(wrong)}" if wrong else "metadata maps text to text"


def _body_length(skill: Skill) -> Verdict:
    lines = skill.body.count("\n")
    return lines < _BODY_LINES, f"the body has {lines} lines; fewer than {_BODY_LINES} are allowed"


def _linked(skill: Skill) -> frozenset[str]:
    return frozenset(a or b for a, b in _LINK.findall(skill.body))


def _all_linked(folder: str) -> Callable[[Skill], Verdict]:
    def check(skill: Skill) -> Verdict:
        files = [file for file in skill.files if file.startswith(f"{folder}/")]
        if not files:
            return None, f"no {folder}/"
        missing = [file for file in files if file not in _linked(skill)]
        shown = ", ".join(missing[:5])
        return not missing, f"not linked: {shown}" if missing else f"all {len(files)} are linked"

    return check


def _paths(prefix: str) -> Callable[[Skill], Verdict]:
    def check(skill: Skill) -> Verdict:
        if prefix != "references" and not any(f.startswith(f"{prefix}/") for f in skill.files):
            return None, f"no {prefix}/"
        local = [link for link in _linked(skill) if "://" not in link]
        wrong = sorted(link for link in local if link.startswith(("/", "..")) or "\\" in link)
        shown = ", ".join(wrong[:5])
        return not wrong, f"not relative: {shown}" if wrong else "paths are relative"

    return check


Row = tuple[str, str, Callable[[Skill], Verdict] | None]
_STRUCTURE: tuple[Row, ...] = (
    ("STRUCT-01", "SKILL.md exists", _exists),
    ("STRUCT-02", "Frontmatter is YAML", _is_yaml),
    ("STRUCT-03", "Name is present", _has("name")),
    ("STRUCT-04", "Description is present", _has("description")),
    ("STRUCT-05", "Name has the right form", _name_form),
    ("STRUCT-06", "Name is the folder's", _name_is_folder),
    ("STRUCT-07", "Description has 1 to 1024", _text_within("description", _DESCRIPTION)),
    ("STRUCT-08", "License is not empty", _optional_text("license")),
    ("STRUCT-09", "Compatibility has 1 to 500",
     _text_within("compatibility", _COMPATIBILITY)),
    ("STRUCT-10", "Metadata maps text to text", _metadata),
    ("STRUCT-11", "Allowed-tools is not empty", _optional_text("allowed-tools")),
    ("STRUCT-12", "Body has fewer than 500 lines", _body_length),
)  # fmt: skip
_BEST_PRACTICES: tuple[Row, ...] = (
    ("BP-01", "Description", None),
    ("BP-02", "Concise", None),
    ("BP-03", "Details are not in the body", None),
    ("BP-04", "References are linked", _all_linked("references")),
    ("BP-05", "Links say when to load", None),
    ("BP-06", "Path format", _paths("references")),
    ("BP-07", "Prescription fits", None),
    ("BP-08", "Defaults, not menus", None),
    ("BP-09", "Procedures", None),
    ("BP-10", "Gotchas", None),
    ("BP-11", "Templates", None),
    ("BP-12", "Templates are not in the body", None),
    ("BP-13", "Assets are linked", _all_linked("assets")),
    ("BP-14", "Asset links say when to load", None),
    ("BP-15", "Asset paths", _paths("assets")),
    ("BP-16", "Step by step", None),
    ("BP-17", "Validation loops", None),
)
