"""An explanation as text or Markdown, verdict first. Pure."""

import re
import textwrap
from collections.abc import Iterator
from typing import NamedTuple

from gpuvet.catalog.conditions import Condition
from gpuvet.catalog.consequences import CauseKind, Consequence, Scope
from gpuvet.catalog.disagreements import Disagreement
from gpuvet.catalog.kinds import NVLINK5_CODES, CodeKind
from gpuvet.catalog.xids import Applies
from gpuvet.explain.xid import XidExplanation
from gpuvet.model.words import Verdict

WIDTH = 92
RECURRENCE = (
    "after a reboot, on the same hardware, within 14 days"  # verdict-rules §5; the days ours
)

_LINK_CODES = {74, 136, *NVLINK5_CODES}
_NAMES = {CodeKind.XID: "Xid", CodeKind.SXID: "SXid"}
_SCOPES = {
    Scope.SAME_GPU: "on the same GPU",
    Scope.OTHER_GPU: "on another GPU of the node",
    Scope.NODE: "on the node",
    Scope.NVLINK_DOMAIN: "in the same NVLink domain",
    Scope.OTHER_NODE: "on another node",
}


class Section(NamedTuple):
    """A heading and what stands under it."""

    title: str
    items: tuple[str, ...]


def headline(explained: XidExplanation) -> str:
    """Return the code and its name."""
    code = f"{_NAMES[explained.kind]} {explained.code}"
    return f"{code}  {explained.mnemonic}" if explained.mnemonic else code


def same_event(explained: XidExplanation) -> str:
    """Return what must agree for an event to count as come back (verdict-rules §5)."""
    if explained.kind is CodeKind.SXID:
        return "the same code on the same switch and link"
    link = " and link" if explained.code in _LINK_CODES else ""
    return f"the same code on the same PCI id{link}"


def judgement(explained: XidExplanation) -> str:
    """Return the verdict, what it becomes on recurrence, and the class."""
    again = explained.on_recurrence.value
    if explained.verdict is explained.on_recurrence:
        later = "and the same when it comes back"
    else:
        later = f"{again} when it comes back {RECURRENCE}"
    return f"the first time; {later}. Class {explained.fault_class.value}."


def sections(explained: XidExplanation) -> tuple[Section, ...]:
    """Return everything below the verdict, leaving out what there is nothing to say of."""
    every = (
        Section("This line", explained.decode),
        Section("Contradictions", explained.contradictions),
        Section("What it is", (explained.meaning,)),
        Section("Do at least", (explained.minimum_action,)),
        Section("What settles it", (explained.open_check,) if explained.open_check else ()),
        Section("Why", (explained.why, *explained.notes)),
        Section("What would change it", tuple(_changes(explained))),
        Section("What it follows from", tuple(map(_cause, explained.follows))),
        Section("What it brings with it", tuple(map(_effect, explained.brings))),
        Section("Where to expect it", tuple(_expected(explained))),
        Section("Who says otherwise", tuple(map(_disagreement, explained.disagreements))),
        Section("Sources", explained.sources),
    )
    return tuple(section for section in every if section.items)


def as_text(explained: XidExplanation) -> str:
    """Return plain text for a terminal."""
    lines = [headline(explained), _wrap(f"{explained.verdict}  {judgement(explained)}", "")]
    if explained.line:
        lines += ["", f"  {explained.line}"]
    for section in sections(explained):
        lines += ["", section.title]
        lines += [_wrap(item, "  ") for item in section.items]
    return "\n".join(lines) + "\n"


def as_markdown(explained: XidExplanation) -> str:
    """Return Markdown; the raw line stands in a fence that it cannot close."""
    lines = [f"### {headline(explained)}", "", f"**{explained.verdict}** {judgement(explained)}"]
    if explained.line:
        longest = max((len(run) for run in re.findall(r"`+", explained.line)), default=0)
        fence = "`" * max(3, longest + 1)
        lines += ["", f"{fence}text", explained.line, fence]
    for section in sections(explained):
        lines += ["", f"**{section.title}**", ""]
        lines += [f"- {item}" for item in section.items]
    return "\n".join(lines) + "\n"


def _wrap(text: str, indent: str) -> str:
    return textwrap.fill(
        text,
        WIDTH,
        initial_indent=indent,
        subsequent_indent=f"{indent}  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def _changes(explained: XidExplanation) -> Iterator[str]:
    yield from map(_condition, explained.changes)
    if explained.verdict is not explained.on_recurrence:
        yield f"{same_event(explained)}, {RECURRENCE}: {explained.on_recurrence}"
    match explained.verdict:
        case Verdict.REPLACE:
            yield "new hardware since then: LEAVE ALONE"
        case Verdict.REBOOT:
            yield "a reboot since then, the log measured and nothing back: MONITOR"
        case Verdict.MONITOR | Verdict.LEAVE_ALONE:
            yield "hours of the log that nobody could see: NOT OBSERVABLE"
        case Verdict.UNVERIFIED | Verdict.NOT_OBSERVABLE:
            pass


def _condition(condition: Condition) -> str:
    verdict = f": {condition.verdict}" if condition.verdict else ""
    advice = f". {condition.advice}" if condition.advice else ""
    return f"{condition.evidence}{verdict}{advice}"


def _cause(row: Consequence) -> str:
    named = f"{_cause_name(row)} {_SCOPES[row.scope]}, {_window(row)}"
    when = f"; only with {row.effect_condition}" if row.effect_condition else ""
    kept = f". It keeps {row.verdict}" if row.verdict else ""
    note = f". {row.note}" if row.note else ""
    return f"{named}{when}{kept}{note}"


def _cause_name(row: Consequence) -> str:
    words = {
        CauseKind.XID: f"Xid {_codes(row.causes)}" if row.causes else "any other Xid",
        CauseKind.SXID: "an SXid",
        CauseKind.SHUTDOWN: "a shutdown",
        CauseKind.LINK_DROP: "a link drop",
        CauseKind.NODE_FINDING: "a finding",
    }
    condition = f" ({row.cause_condition})" if row.cause_condition else ""
    return f"{words[row.cause_kind]}{condition}"


def _window(row: Consequence) -> str:
    if row.cause_before_seconds is None:
        return f"any time earlier in the boot or up to {row.cause_after_seconds} s after it"
    before = f"up to {row.cause_before_seconds} s before it"
    return f"{before} or {row.cause_after_seconds} s after" if row.cause_after_seconds else before


def _effect(row: Consequence) -> str:
    after = f"up to {row.cause_before_seconds} s after it"
    before = f" or {row.cause_after_seconds} s before" if row.cause_after_seconds else ""
    when = f", with {row.effect_condition}" if row.effect_condition else ""
    name = _NAMES[row.effect_kind]
    return f"{name} {_codes(row.effects)}{when} {_SCOPES[row.scope]}, {after}{before}"


def _codes(codes: tuple[int, ...]) -> str:
    *others, last = codes
    if len(codes) > 2 and codes == tuple(range(codes[0], last + 1)):
        return f"{codes[0]} to {last}"
    return f"{', '.join(map(str, others))} or {last}" if others else str(last)


def _expected(explained: XidExplanation) -> Iterator[str]:
    match explained.applies:
        case Applies.LISTED:
            parts = ", ".join(explained.architectures)
            yield f"{parts} in NVIDIA's catalog; elsewhere check the instance type and the code"
        case Applies.NONE:
            yield "on no part since A100, by NVIDIA's catalog"
        case Applies.UNLISTED:
            yield "NVIDIA's catalog does not list it"
        case None:
            return
    if explained.xid154_linkage not in {None, "no"}:
        yield f"an Xid 154 goes with it: {explained.xid154_linkage}"


def _disagreement(row: Disagreement) -> str:
    return f"{row.who}: {row.says}. {row.why}"
