"""evals.json in both forms, the hand-written list and the functional form; trigger queries. Pure.

A string assertion is `contains 'X' or contains 'Y'`, `matches regex /P/i`, or text for a judge;
an object is a pattern, a job spec or the grounding. Unknown evaluators are kept and named.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, cast

from gpuvet.model.base import Value
from gpuvet_evals.errors import UnreadableEvals

MAX_EVALS_BYTES = 16 * 1024 * 1024
MAX_EVALS = 10_000
_CONTAINS = re.compile(r"""contains\s+(?:'([^']*)'|"([^"]*)")""", re.IGNORECASE)
_ANY_CONTAINS = re.compile(
    rf"\s*{_CONTAINS.pattern}(?:\s+or\s+{_CONTAINS.pattern})*\s*\.?\s*", re.IGNORECASE
)
_REGEX = re.compile(r"\s*matches\s+regex\s+/(.*)/([a-zA-Z]*)\s*", re.DOTALL | re.IGNORECASE)
OFFLINE_EVALUATORS = frozenset({"regex", "contains", "job_spec", "grounded"})
_FLAGS = "aimsx"  # inline flags of Python's re; others are refused where the pattern is run
_QUERY_KEYS = frozenset({"id", "query", "should_trigger", "rationale"})
_EVAL_KEYS = frozenset(
    {
        "id", "task_type", "prompt", "expected_output", "expected_root_cause", "should_trigger",
        "assertions", "files",
    }
)  # fmt: skip


class JobSpecExpectation(Value):
    """What a job spec of the run must show when it is checked and simulated."""

    codes: tuple[str, ...] = ()  # found in some spec
    absent: tuple[str, ...] = ()  # found in none
    first_trip: str | None = None  # name of the rule that trips first on the log
    clean: bool = False  # no finding of severity error
    source: str = "any"  # answer, tool, attached or any
    spec: str | None = None  # an attached file that is a spec
    log: str | None = None  # an attached file that is the log to simulate


class Assertion(Value):
    """One assertion of an eval."""

    text: str
    evaluator: str  # llm, regex, contains, job_spec or grounded; others as written
    pattern: str | None = None
    absent: bool = False
    min_count: int | None = None
    any_of: tuple[str, ...] = ()
    job_spec: JobSpecExpectation | None = None

    @property
    def is_judged(self) -> bool:
        """Whether only a judge can decide it."""
        return self.evaluator not in OFFLINE_EVALUATORS


class Eval(Value):
    """One eval."""

    id: str
    task_type: str = "chat"
    prompt: str = ""
    expected: str = ""
    should_trigger: bool = True
    assertions: tuple[Assertion, ...] | None = None
    files: tuple[str, ...] = ()
    unknown_keys: tuple[str, ...] = ()
    is_query: bool = False  # only whether the skill is loaded is asked


class EvalSet(Value):
    """All evals of a skill."""

    skill_name: str | None
    evals: tuple[Eval, ...]

    def find(self, eval_id: str) -> Eval | None:
        """Return the eval of that id."""
        return next((e for e in self.evals if e.id == eval_id), None)

    def find_by_prompt(self, prompt: str) -> Eval | None:
        """Return the eval whose prompt a journal opens with, ignoring white space."""
        wanted = " ".join(prompt.split())
        matching = (e for e in self.evals if e.prompt and " ".join(e.prompt.split()) == wanted)
        return next(matching, None)


def read_evals(text: str | bytes) -> EvalSet:
    """Read evals.json, or eval_queries.json: `{queries: [{id, query, should_trigger}]}`.

    Raises:
        UnreadableEvals: No JSON, none of the forms, or an entry without an id.
    """
    if len(text) > MAX_EVALS_BYTES:
        raise UnreadableEvals(f"evals of {len(text)} bytes; at most {MAX_EVALS_BYTES} are read")
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableEvals(f"evals.json is no JSON: {error}") from error
    skill: object = None
    read = _eval
    if isinstance(value, dict):
        fields = cast("Mapping[str, object]", value)
        read = _query if "queries" in fields and "evals" not in fields else _eval
        skill = fields.get("skill_name")
        value = fields.get("queries" if read is _query else "evals")
    if not isinstance(value, list):
        raise UnreadableEvals(
            "evals must be a list, or stand in one under 'evals', or queries under 'queries'"
        )
    entries = cast("list[object]", value)[:MAX_EVALS]
    return EvalSet(
        skill_name=skill if isinstance(skill, str) else None,
        evals=tuple(read(i, entry) for i, entry in enumerate(entries)),
    )


def parse_assertion(value: object) -> Assertion:
    """Return one assertion, from a string of the grammar or an object."""
    if isinstance(value, str):
        return _from_text(value)
    if not isinstance(value, dict):
        raise UnreadableEvals(f"an assertion is {type(value).__name__}; use a string or an object")
    fields = cast("Mapping[str, Any]", value)
    pattern = fields.get("pattern")
    evaluator = str(fields.get("evaluator") or ("regex" if isinstance(pattern, str) else "llm"))
    text = str(fields.get("text") or pattern or evaluator)
    count = fields.get("min_count")
    return Assertion(
        text=text,
        evaluator=evaluator,
        pattern=pattern if isinstance(pattern, str) else None,
        absent=fields.get("match") == "absent",
        min_count=count if isinstance(count, int) and not isinstance(count, bool) else None,
        any_of=strings(fields.get("any_of") or fields.get("contains")),
        job_spec=_job_spec(fields) if evaluator == "job_spec" else None,
    )


def strings(value: object) -> tuple[str, ...]:
    """Return a string, or the strings of a list, as a tuple."""
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list | tuple):
        items = cast("Sequence[object]", value)
        return tuple(str(item) for item in items if isinstance(item, str | int))
    return ()


def _eval(index: int, entry: object) -> Eval:
    if not isinstance(entry, dict):
        raise UnreadableEvals(f"eval {index} is {type(entry).__name__}; it must be an object")
    fields = cast("Mapping[str, Any]", entry)
    identity = fields.get("id")
    if isinstance(identity, bool) or not isinstance(identity, str | int):
        raise UnreadableEvals(f"eval {index} has id {identity!r}; it needs a string or a number")
    trigger = fields.get("should_trigger")
    assertions = fields.get("assertions")
    return Eval(
        id=str(identity),
        task_type=str(fields.get("task_type") or _task_type(fields)),
        prompt=str(fields.get("prompt") or ""),
        expected=str(fields.get("expected_output") or fields.get("expected_root_cause") or ""),
        should_trigger=trigger if isinstance(trigger, bool) else True,
        assertions=(
            tuple(parse_assertion(a) for a in cast("list[object]", assertions))
            if isinstance(assertions, list)
            else None
        ),
        files=tuple(f for f in strings(fields.get("files")) if _is_inside(f)),
        unknown_keys=tuple(sorted(set(fields) - _EVAL_KEYS)),
    )


def _query(index: int, entry: object) -> Eval:
    if not isinstance(entry, dict):
        raise UnreadableEvals(f"query {index} is {type(entry).__name__}; it must be an object")
    fields = cast("Mapping[str, Any]", entry)
    identity, trigger = fields.get("id"), fields.get("should_trigger")
    if isinstance(identity, bool) or not isinstance(identity, str | int):
        raise UnreadableEvals(f"query {index} has id {identity!r}; it needs a string or a number")
    if not isinstance(trigger, bool):
        raise UnreadableEvals(f"query {identity!r} must say should_trigger: true or false")
    return Eval(
        id=str(identity),
        prompt=str(fields.get("query") or ""),
        should_trigger=trigger,
        is_query=True,
        unknown_keys=tuple(sorted(set(fields) - _QUERY_KEYS)),
    )


def _task_type(fields: Mapping[str, Any]) -> str:
    return "investigation" if "expected_root_cause" in fields else "chat"


def _is_inside(path: str) -> bool:
    """Whether a listed file stays inside the evals folder."""
    parts = PurePosixPath(path.replace("\\", "/"))
    return not parts.is_absolute() and ".." not in parts.parts and ":" not in path


def _from_text(text: str) -> Assertion:
    if _ANY_CONTAINS.fullmatch(text):
        found = tuple(a or b for a, b in _CONTAINS.findall(text))
        return Assertion(text=text, evaluator="contains", any_of=found)
    if match := _REGEX.fullmatch(text):
        flags = "".join(dict.fromkeys(match[2].lower()))
        known = "".join(flag for flag in flags if flag in _FLAGS)
        pattern = f"(?{known}){match[1]}" if known else match[1]
        return Assertion(text=text, evaluator="regex", pattern=pattern)
    return Assertion(text=text, evaluator="llm")


def _job_spec(fields: Mapping[str, Any]) -> JobSpecExpectation:
    trip = fields.get("first_trip")
    if isinstance(trip, dict):
        trip = cast("Mapping[str, object]", trip).get("rule")
    spec, log = fields.get("spec"), fields.get("log")
    return JobSpecExpectation(
        codes=strings(fields.get("codes")),
        absent=strings(fields.get("absent")),
        first_trip=trip if isinstance(trip, str) else None,
        clean=fields.get("clean") is True,
        source=str(fields.get("source") or "any"),
        spec=spec if isinstance(spec, str) and _is_inside(spec) else None,
        log=log if isinstance(log, str) and _is_inside(log) else None,
    )
