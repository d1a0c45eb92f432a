"""A look at single sources as Markdown: every fact of its rows, in their order."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from gpuvet.model.base import Value
from gpuvet.model.inspection import Inspection, SourceRow
from gpuvet.model.untyped import is_array
from gpuvet.report.words import cell, code, counted, span, utc, whole

# Text that somebody else wrote stands in code spans.
_FOREIGN = frozenset({"text", "description", "failure", "message", "example", "stream", "host"})
_NO_NAMES = frozenset({"at"})
_COMMON = frozenset(Inspection.model_fields) | {"rows"}


def inspection_markdown(look: Inspection, rows: Sequence[Value]) -> str:
    """Return a look with some of its rows."""
    return "\n".join([*_head(look), *_rows(rows), *_tail(look)]) + "\n"


def _head(look: Inspection) -> Iterator[str]:
    yield f"**{whole(look.headline)}**"
    yield ""
    reason = f" ({look.reason.value})" if look.reason else ""
    parts = [f"State {look.state.value}{reason}"]
    place = [part for part in (look.cluster, look.orchestrator, look.region, look.account) if part]
    if place:
        parts.append(", ".join(cell(part) for part in place))
    if look.window is not None:
        window = span(look.window.since, look.window.until)
        parts.append(f"window {window} ({cell(look.window.source)})")
    parts.append(f"read at {utc(look.now)}")
    yield "; ".join(parts) + "."
    yield ""
    for group in look.groups:
        named = f": {', '.join(cell(one) for one in group.examples)}" if group.examples else ""
        more = " …" if group.count > len(group.examples) > 0 else ""
        yield f"- {group.count} of {cell(group.what)}{named}{more}"
    if look.groups:
        yield ""
    for note in (*look.notes, *_extras(look)):
        yield f"- {whole(note)}"


def _extras(look: Inspection) -> Iterator[str]:
    """Yield the members that only one kind of look has."""
    for name in type(look).model_fields:
        value: object = getattr(look, name)
        if name not in _COMMON and value not in ((), None):
            yield f"{name.replace('_', ' ')}: {_words(value)}"


def _rows(rows: Sequence[Value]) -> Iterator[str]:
    yield ""
    for row in rows:
        yield f"- {_row(row)}"


def _row(row: Value) -> str:
    parts = [
        _member(name, getattr(row, name))
        for name in type(row).model_fields
        if getattr(row, name) not in (None, (), "")
    ]
    first, *others = parts or [""]
    return " · ".join([first, *others])


def _member(name: str, value: object) -> str:
    words = code(str(value)) if name in _FOREIGN else _words(value)
    return words if name in _NO_NAMES else f"{name.replace('_', ' ')} {words}"


def _words(value: object) -> str:
    if isinstance(value, datetime):
        return utc(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:g}"
    if is_array(value):
        return ", ".join(_words(one) for one in value)
    return whole(str(value))


def _tail(look: Inspection) -> Iterator[str]:
    yield ""
    yield "Sources:"
    yield from (f"- {_source(one)}" for one in look.sources)
    if look.not_seen:
        yield ""
        more = f", {len(look.not_seen)} of them" if look.not_seen_total > len(look.not_seen) else ""
        total = max(look.not_seen_total, len(look.not_seen))
        yield f"Not seen ({counted(total, 'source')}{more}):"
        for one in look.not_seen:
            on = f" ({', '.join(one.nodes)})" if one.nodes else ""
            closes = whole(one.closes_with)
            yield f"- {whole(one.what)}{on}: {cell(str(one.reason))}. Closes with: {closes}"


def _source(row: SourceRow) -> str:
    reason = f" ({row.reason.value})" if row.reason else ""
    calls = f", {row.calls} readings" if row.calls > 1 else ""
    return (
        f"{cell(row.source)}: {row.status.value}{reason}, {row.what}{calls}, "
        f"{', '.join(row.evidence)}"
    )
