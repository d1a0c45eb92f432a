"""A check, what it finds, and running a list of them in order.

Checks are written out in tuples; nothing registers itself.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from gpuvet.errors import UsageError
from gpuvet.model.check import Edit, Finding, Severity
from gpuvet.model.job_spec import Field
from gpuvet.model.yaml_tree import Scalar

Subject = TypeVar("Subject")


class Hit(NamedTuple):
    """One fault as a check sees it; the registry adds code, severity and source."""

    where: Field
    message: str
    fix: str | None = None  # None: the check's own
    milder: Severity | None = None  # where the facts give the case a lower level
    at_key: bool = False  # the fault is the name, not the value
    edits: tuple[Edit, ...] = ()


class Check(NamedTuple, Generic[Subject]):
    """One rule: its code, what it leads to, who says so, and the function that looks."""

    code: str
    name: str  # states the flaw
    severity: Severity
    why: str
    fix: str
    source: str
    run: Callable[[Subject], Iterator[Hit]]


def run(checks: Iterable[Check[Subject]], subject: Subject, file: str) -> Iterator[Finding]:
    """Yield what the checks find, check by check."""
    for check in checks:
        for hit in check.run(subject):
            yield _finding(check, hit, file)


def _finding(check: Check[Subject], hit: Hit, file: str) -> Finding:
    is_key = hit.at_key or not hit.where.present
    place = hit.where.key_place if is_key and hit.where.key_place else hit.where.place
    return Finding(
        code=check.code,
        severity=hit.milder or check.severity,
        file=file,
        line=place.line,
        column=place.column,
        path=hit.where.path,
        message=hit.message,
        why=check.why,
        fix=hit.fix or check.fix,
        source=check.source,
        end_line=place.end_line,
        end_column=place.end_column,
        edits=hit.edits,
    )


def is_selected(code: str, select: Sequence[str], ignore: Sequence[str]) -> bool:
    """Return whether a code is wanted; both lists take prefixes such as HPJ12, the longer wins."""
    wanted = max((len(prefix) for prefix in select if code.startswith(prefix)), default=-1)
    unwanted = max((len(prefix) for prefix in ignore if code.startswith(prefix)), default=-1)
    if select:
        return wanted >= 0 and wanted > unwanted
    return unwanted < 0


def require_known(prefixes: Iterable[str], codes: Iterable[str]) -> None:
    """Refuse a prefix that no code begins with.

    Raises:
        UsageError: naming the prefix and what exists.
    """
    known = sorted(codes)
    for prefix in prefixes:
        if not any(code.startswith(prefix) for code in known):
            raise UsageError(
                f"no check begins with {prefix!r}; the codes run from {known[0]} to {known[-1]}"
            )


def rewritten(field: Field, text: str) -> tuple[Edit, ...]:
    """Return the edit that puts other YAML text in a value's place; none for an alias."""
    if not isinstance(field.node, Scalar) or field.node.alias is not None:
        return ()
    if field.node.style in {"|", ">"} or field.node.place.line != field.node.place.end_line:
        return ()
    return (Edit(start=field.node.place.start, end=field.node.place.end, text=text),)


def renamed(field: Field, name: str) -> tuple[Edit, ...]:
    """Return the edit that gives a key another name, in the quotes it has."""
    place = field.key_place
    if place is None:
        return ()
    quote = '"' if place.end - place.start == len(_last_key(field)) + 2 else ""
    return (Edit(start=place.start, end=place.end, text=f"{quote}{name}{quote}"),)


def _last_key(field: Field) -> str:
    return field.path.rsplit(".", 1)[-1]
