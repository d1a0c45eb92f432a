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
MAX_REASONING = 2_000  # characters; two sentences are asked for
_SHOWN = 600
# A closing tag and the next parameter, as a tool call would have had them.
_LEAK = re.compile(r"</\w+>\s*<parameter name=[\"'](\w+)[\"']>\s*", re.DOTALL)
_TAG = re.compile(r"</?(?:parameter|invoke|function_calls|reasoning|evidence|confidence)\b[^>]*>")
_FENCE = re.compile(r"```(?:json)?\s*\n(.*?)```", re.DOTALL)
# A conclusion is about the assertion itself, or drawn with "so" and "therefore" about the answer;
# "every attempt failed" is what the answer reports. A sentence with "would" concludes nothing.
_ASKED = r"(?:assertion|criterion|requirement)"
_SUBJECT = rf"\b{_ASKED}\s+(?:(?:clearly|thus|therefore|hence|also|then)\s+)?"
_HENCE = r"\b(?:so|therefore|thus|hence|consequently),?\s+(?:it|this|that|the answer)\s+"
_MET = r"(?:\w+\s+)?(?:met|satisfied|true|fulfilled|supported)"
_MARKED = r"\bbe\s+(?:marked|judged|graded|scored|rated|considered)\s+(?:as\s+)?(?:a\s+)?"
_FAILS = re.compile(
    rf"{_SUBJECT}(?:(?:should\s+)?fail(?:s|ed)?\b|(?:does|do)(?:\s+not|n't)\s+(?:hold|pass)|"
    rf"is(?:\s+not|n't)\s+{_MET}|is\s+(?:false|violated|unmet|unsupported|unsatisfied)|"
    rf"can(?:not|'t)\s+be\s+{_MET}|should\s+be\s+failed|should\s+not\s+pass)"
    rf"|\b(?:does\s+not|doesn't|fails\s+to|cannot)\s+(?:satisfy|meet|fulfil+|support)\s+\w+\s+{_ASKED}"
    rf"|\bfails\s+(?:the|this|that)\s+{_ASKED}"
    rf"|{_HENCE}(?:fails|should\s+fail|(?:does\s+not|doesn't)\s+(?:hold|pass))\b"
    rf"|{_MARKED}(?:fail(?:ed|ing)?|false|not\s+(?:met|passed))\b"
    r"|^\s*(?:it\s+)?(?:does(?:\s+not|n't)\s+hold|fails)\b[.!]?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
_HOLDS = re.compile(
    rf"{_SUBJECT}(?:(?:should\s+)?(?:holds?|held|pass(?:es|ed)?)\b|is\s+(?!not\b){_MET}|"
    r"should\s+be\s+passed)"
    rf"|(?<!not\s)\b(?:satisfies|meets|fulfil+s)\s+(?:the|this|that)\s+{_ASKED}"
    rf"|\bpasses\s+(?:the|this|that)\s+{_ASKED}"
    rf"|{_HENCE}(?:holds|passes|should\s+pass)\b"
    rf"|{_MARKED}(?:pass(?:ed|ing)?|true|met)\b"
    r"|^\s*(?:it\s+)?(?:holds|passes)\b[.!]?\s*$",
    re.IGNORECASE | re.MULTILINE,
)
# There was nothing to check, and so it was called true.
_HAS_NO = (
    r"(?:\b(?:contains?|has|have|gives?|states?|mentions?|shows?|includes?|uses?|names?|"
    r"there\s+(?:is|are|was|were))\s+no\b"
    r"|\bno\s+\w+(?:\s+\w+){0,3}\s+(?:is|are|was|were|appears?|occurs?|exists?)\b)"
)
_VACUOUS = re.compile(
    rf"{_HAS_NO}[^.]*(?:\b(?:so|hence|therefore|thus|and)\b|[,;])[^.]*"
    r"\b(?:none|no|nothing|trivial(?:ly)?)\b"
    r"|\bvacuous(?:ly)?\b|\btrivially\b|\bnot\s+applicable\b|\bdoes(?:\s+not|n't)\s+apply\b"
    r"|\bnothing\s+(?:to\s+(?:check|apply|judge)|it\s+(?:could|can)\s+apply)\b",
    re.IGNORECASE,
)
_NO_QUOTE = frozenset({"", "-", "none", "n/a", "null", "(none)", "not applicable"})
_WORDS = {"true": True, "yes": True, "pass": True, "passed": True,
          "false": False, "no": False, "fail": False, "failed": False}  # fmt: skip
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
    reasoning = _text(fields.get("reasoning"))[:MAX_REASONING]
    evidence = _text(fields.get("evidence"))
    if evidence.strip().lower() in _NO_QUOTE:
        evidence = ""
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
    if passed and not evidence and _VACUOUS.search(reasoning):
        flags.append("vacuous")
        return Outcome.NOT_APPLICABLE
    if answer is not None:
        if evidence and not holds_quote(answer, evidence):
            flags.append("evidence_not_found")
            return Outcome.NEEDS_REJUDGE
        if passed and not evidence:
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
        if isinstance(value, str) and value != raw:
            return _fields(value)  # JSON written into JSON
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
    known = _WORDS.get(value.strip().lower().rstrip(".")) if isinstance(value, str) else None
    if value in (0, 1):
        known = value == 1
    if known is not None:
        flags.append("coerced")
    return known


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
