"""A judge's raw reply read as a judgement, or as the reason to ask again. Pure.

Published results hold replies with markup of a tool call in their reasoning, verdicts that their
own reasoning contradicts, quotes that stand nowhere in the answer, and passes because there was
nothing to check. Each is seen here; raw text is never kept.
"""

import json
import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, cast

from gpuvet.model.base import Value
from gpuvet_evals.untrusted import clean

CONFIDENCES = ("high", "medium", "low")
MAX_REPLY = 100_000  # characters
_SHOWN = 600
# A closing tag and the next parameter, as a tool call would have had them.
_LEAK = re.compile(r"</\w+>\s*<parameter name=\"(\w+)\">\s*", re.DOTALL)
_TAG = re.compile(r"</?(?:parameter|invoke|function_calls|reasoning|evidence|confidence)\b[^>]*>")
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)
# A conclusion is about the assertion itself; "every attempt failed" is about the answer.
_SUBJECT = r"(?:\b(?:assertion|criterion|requirement)\b(?:\s+(?:clearly|thus|therefore|also))?\s+)"
_MET = r"(?:met|satisfied|true|fulfilled|supported)"
_FAILS = re.compile(
    rf"{_SUBJECT}(?:(?:should\s+)?fails?\b|(?:does|do)(?:\s+not|n't)\s+hold|"
    rf"is(?:\s+not|n't)\s+{_MET}|is\s+(?:false|violated|unmet|unsupported)|cannot\s+be\s+{_MET}|"
    r"should\s+(?:be\s+)?fail(?:ed)?|should\s+not\s+pass)"
    r"|^\s*(?:it\s+)?(?:does(?:\s+not|n't)\s+hold|fails)\b[.!]?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_HOLDS = re.compile(
    rf"{_SUBJECT}(?:(?:should\s+)?(?:holds?|pass(?:es)?)\b|is\s+{_MET}|should\s+be\s+passed)"
    r"|^\s*(?:it\s+)?(?:holds|passes)\b[.!]?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
# There was nothing to check, and so it was called true.
_VACUOUS = re.compile(
    r"\b(?:contains?|has|have|gives?|states?|mentions?|shows?|includes?|(?:there\s+(?:is|are)))\s+"
    r"no\b[^.]*\b(?:so|hence|therefore|thus|and\s+so)\b[^.]*\b(?:none|no|nothing|trivially)\b"
    r"|\bvacuous(?:ly)?\b|\bnot\s+applicable\b|\bdoes(?:\s+not|n't)\s+apply\b"
    r"|\bnothing\s+(?:to\s+(?:check|apply|judge)|it\s+(?:could|can)\s+apply)\b",
    re.IGNORECASE,
)
_ELLIPSIS = re.compile(r"\s*(?:\[?…\]?|\[?\.\.\.\]?)\s*")


class Outcome(StrEnum):
    """What one reply amounts to."""

    PASS = "pass"  # noqa: S105 - a verdict, no password
    FAIL = "fail"
    NOT_APPLICABLE = "not_applicable"
    NEEDS_REJUDGE = "needs_rejudge"
    JUDGE_ERROR = "judge_error"

    @property
    def is_usable(self) -> bool:
        """Whether it is a vote, not a reason to ask again."""
        return self not in {Outcome.NEEDS_REJUDGE, Outcome.JUDGE_ERROR}


class Judgement(Value):
    """One reply as read."""

    verdict: Outcome
    confidence: str | None = None
    evidence: str = ""
    reasoning: str = ""
    flags: tuple[str, ...] = ()


def read_judgement(raw: str, answer: str | None = None) -> Judgement:
    """Return what a raw reply says.

    Args:
        raw: The judge's words: JSON, perhaps in a fence or between words.
        answer: The judged answer; quotes are looked up in it, and a pass needs one.
    """
    fields = _fields(raw)
    if fields is None:
        return Judgement(verdict=Outcome.JUDGE_ERROR, flags=("unparseable",))
    flags: list[str] = []
    fields = _without_leaks(fields, flags)
    passed = _passed(fields.get("passed"), flags)
    if passed is None and fields.get("applicable") is not False:
        return Judgement(verdict=Outcome.JUDGE_ERROR, flags=("unparseable",))
    reasoning, evidence = _text(fields.get("reasoning")), _text(fields.get("evidence"))
    verdict = _verdict(fields, passed, reasoning, evidence, answer, flags)
    return Judgement(
        verdict=verdict,
        confidence=_confidence(fields.get("confidence"), flags),
        evidence=clean(evidence, limit=_SHOWN),
        reasoning=clean(reasoning, limit=_SHOWN),
        flags=tuple(flags),
    )


def holds_quote(answer: str, quote: str) -> bool:
    """Whether a quote stands in an answer: white space, marks and outer quotes aside.

    An ellipsis stands for left-out words: the pieces must occur in their order.
    """
    text, at = _plain(answer), 0
    pieces = [piece for piece in map(_plain, _ELLIPSIS.split(quote.strip())) if piece]
    for piece in pieces:
        found = text.find(piece, at)
        if found < 0:
            return False
        at = found + len(piece)
    return bool(pieces)


def _verdict(
    fields: Mapping[str, Any],
    passed: bool | None,
    reasoning: str,
    evidence: str,
    answer: str | None,
    flags: list[str],
) -> Outcome:
    if fields.get("applicable") is False:
        return Outcome.NOT_APPLICABLE
    if _contradicts(passed=passed is True, reasoning=reasoning):
        flags.append("contradiction")
        return Outcome.NEEDS_REJUDGE
    if passed and not evidence.strip() and _VACUOUS.search(reasoning):
        flags.append("vacuous")
        return Outcome.NOT_APPLICABLE
    if answer is not None:
        if evidence.strip() and not holds_quote(answer, evidence):
            flags.append("evidence_not_found")
            return Outcome.NEEDS_REJUDGE
        if passed and not evidence.strip():
            flags.append("no_evidence")
            return Outcome.NEEDS_REJUDGE
    return Outcome.PASS if passed else Outcome.FAIL


def _contradicts(*, passed: bool, reasoning: str) -> bool:
    """Whether the last conclusion of the reasoning is the other one."""
    fails = max((match.start() for match in _FAILS.finditer(reasoning)), default=-1)
    holds = max((match.start() for match in _HOLDS.finditer(reasoning)), default=-1)
    return fails > holds if passed else holds > fails


def _fields(raw: str) -> dict[str, Any] | None:
    """Return the reply's object: alone, in a fence, or between words."""
    text = raw.strip()[:MAX_REPLY]
    fenced = _FENCE.search(text)
    start, end = text.find("{"), text.rfind("}")
    for candidate in (text, fenced[1] if fenced else "", text[start : end + 1]):
        try:
            value: object = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            return dict(cast("Mapping[str, Any]", value))
    return None


def _without_leaks(fields: Mapping[str, Any], flags: list[str]) -> dict[str, Any]:
    """Return the fields with leaked markup cut off; what it carried fills fields that lack."""
    kept: dict[str, Any] = {}
    leaked: dict[str, str] = {}
    for name, value in fields.items():
        if not isinstance(value, str):
            kept[name] = value
            continue
        first, *rest = _LEAK.split(value)
        for key, text in zip(rest[::2], rest[1::2], strict=True):
            leaked.setdefault(key, _TAG.sub("", text).strip())
        kept[name] = _TAG.sub("", first)
        if rest or kept[name] != first:
            flags.append("markup_leak")
            kept[name] = kept[name].strip()
    return {**leaked, **{name: value for name, value in kept.items() if value not in ("", None)}}


def _passed(value: object, flags: list[str]) -> bool | None:
    if isinstance(value, bool):
        return value
    word = value.strip().lower() if isinstance(value, str) else ""
    if word in {"true", "false"}:
        flags.append("coerced")
        return word == "true"
    return None


def _confidence(value: object, flags: list[str]) -> str | None:
    if isinstance(value, str) and value.strip().lower() in CONFIDENCES:
        return value.strip().lower()
    flags.append("off_menu_confidence" if value else "no_confidence")
    return None


def _plain(text: str) -> str:
    """Return text as a reader sees it: no emphasis or code marks, single blanks, no case."""
    return " ".join(re.sub(r"[*_`\"“”'‘’]", "", text).split()).casefold()  # noqa: RUF001 - quotes


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
