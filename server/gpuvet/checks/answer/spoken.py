"""Which verdict a draft gives which node, whether a run may start, what checks came to. Pure."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from gpuvet.checks.answer.phrases import any_of, clause_before, just_before
from gpuvet.checks.answer.words_of_absence import INSTANCE
from gpuvet.model.check import CheckStatus
from gpuvet.model.readiness import Ready
from gpuvet.model.verdict import Verdict
from gpuvet.parse.draft import Draft, Unit, UnitKind

_WORDS = {
    Verdict.REPLACE: r"REPLACE(?:MENT|D)?",
    Verdict.REBOOT: "REBOOT",
    Verdict.UNVERIFIED: "UNVERIFIED",
    Verdict.MONITOR: "MONITOR",
    Verdict.LEAVE_ALONE: r"LEAVE[ _]ALONE",
    Verdict.NOT_OBSERVABLE: r"NOT[ _]OBSERVABLE",
}
_CAPITALS = re.compile("|".join(f"(?P<{v.name}>\\b{w}\\b)" for v, w in _WORDS.items()))
# Verdicts as directives: "Replace node i-…", "i-… needs a reboot", "leave the node alone".
_IT = r"(?:the |this |that |these |both |all |affected |faulty |whole )*(?:GPU )?" + any_of(
    "nodes?", "instances?", "hosts?", "machines?", "it", "them", r"i-[0-9a-f]{8,17}"
)
_MUST = r"(?:should|must|needs? to|has to|have to|ought to)\s+be\s+"
_NO_ACTION = any_of(
    "no action (?:is )?(?:needed|required)(?: on (?:the |any )?nodes?)?",
    "nothing to do on the nodes?",
)
_AS_IS = r"(?:running|in service|as (?:it is|they are))"
_DIRECTIVES = (
    (Verdict.REPLACE, rf"(?:replace|swap(?: out)?)\s+{_IT}"),
    (Verdict.REPLACE, rf"{_MUST}(?:replaced|swapped(?: out)?)"),
    (Verdict.REPLACE, rf"{_IT}\s+needs? (?:replacing|replacement|a replacement)"),
    (Verdict.REBOOT, rf"(?:reboot|restart|power[- ]cycle)\s+{_IT}"),
    (Verdict.REBOOT, rf"{_MUST}(?:rebooted|restarted|power[- ]cycled)"),
    (Verdict.REBOOT, rf"{_IT}\s+needs? (?:a reboot|rebooting|a restart)"),
    (Verdict.MONITOR, rf"(?:monitor|keep (?:an eye on|watching|monitoring))\s+{_IT}"),
    (
        Verdict.LEAVE_ALONE,
        rf"leave\s+{_IT}\s+(?:alone|{_AS_IS})|leave alone|keep\s+{_IT}\s+{_AS_IS}",
    ),
    (Verdict.LEAVE_ALONE, rf"{_IT}\s+can (?:safely )?(?:stay|remain|be kept)\s+{_AS_IS}"),
    (Verdict.LEAVE_ALONE, _NO_ACTION),
    (Verdict.UNVERIFIED, r"(?:is|are|remains?|stays?|as|verdict:?)\s+unverified"),
    (Verdict.NOT_OBSERVABLE, r"(?:is|are|was|were|remains?|stays?|as|verdict:?)\s+not observable"),
)
_PATTERNS = (
    *((v, re.compile(rf"\b{w}\b")) for v, w in _WORDS.items()),
    *((v, re.compile(rf"\b(?:{w})\b", re.IGNORECASE)) for v, w in _DIRECTIVES),
)
# Before a verdict: what makes it none.
_NOT_GIVEN = re.compile(
    r"(?:\b"
    + any_of(
        *("not", "never", "no", "don't", "doesn't", "isn't", "nor", "neither", "rather than"),
        *("instead of", "before", "without", "avoid", "premature to", r"bars? (?:of|for|to)"),
        *("short of", "unlike", "meets? no", "than", "until", "if", "unless", "when", "once"),
        *("whether", "in case", "would", "could", "might", "may", "should it", "request"),
        *(r"after (?:a|the|that)", r"next step (?:is|would be)", "escalate to", "becomes?"),
        *(r"turns? into", r"upgraded? to", "then", "not yet", "from"),
    )
    + r"\b[^.;]{0,40}|\b0\s|\?\s?)\Z",
    re.IGNORECASE,
)
# "I would replace it" is a verdict; "it would be replaced" is none.
_ADVISED = re.compile(
    r"\b(?:I|we|you) (?:would|should|could)(?: then| first)?\s*\Z|\bI'd\s*\Z", re.IGNORECASE
)
_CONDITION_AFTER = re.compile(
    r"\W{0,4}(?:otherwise|else)\b"
    r"|[^.;,]{0,30}?\b(?:only )?(?:if|when|once|unless|should|until|as soon as)\b",
    re.IGNORECASE,
)
# What is right in any case of an UNVERIFIED node is a first step, not its verdict.
_LEAST_BEFORE = re.compile(
    r"\b(?:in any case|at least|minimum(?: action)?)\W{0,3}\Z", re.IGNORECASE
)
_LEAST_AFTER = re.compile(r"\s*\(?(?:at least|as (?:a|the) minimum|in any case)\b", re.IGNORECASE)
_COUNT_BEFORE = re.compile(r"(?<![\w.-])(\d{1,5})\s+(?:nodes?\s+)?\Z")
_COUNT_AFTER = re.compile(
    r"\s*[:(]?\s*(\d{1,5})\s+(?:of \d+ )?(?:GPU |compute )?(?:nodes?|instances?)\b", re.IGNORECASE
)
_STATUS = "|".join(re.escape(s.value).replace("_", "[_ ]") for s in CheckStatus)
_CHECK = re.compile(rf"\b(?P<id>P\d{{1,2}})\b|\b(?P<status>{_STATUS})\b")
_IS_CHECK = re.compile(r"\bP\d{1,2}\b|\b(?:PASS|FAIL|RISK|NEEDS_INPUT|NOT_CHECKED)\b")
# Between a status and the check behind it; between a check and the status behind it.
_JOINS = re.compile(r"[\s\W_]{1,4}")
_LEADS = re.compile(
    r"[^\w,;.]{1,6}|\W*(?:is|was|came to|comes to|status)\W*|[^.,;:|]{0,70}[:\u2013\u2014]\s*"
)
_READY_AT = re.compile(
    r"\b(?P<h>\d{1,4})\s?(?:-|\u2011)?h(?:ours?)?\b(?: run)?\W{0,6}(?:ready\??\W{0,3})?"
    r"\b(?P<word>Yes,? with risks|Yes|No\b(?=\W*(?:\(|$|[.,;|*]))|Not decided|Ready|Not ready)\b",
    re.IGNORECASE,
)
_READY = re.compile(
    r"\bready\??\s*[:\u2013\u2014-]?\s*\W{0,4}"
    r"(?P<word>yes,? with risks|with risks|yes|no\b(?!\s+\w+\s+(?:check|answer))|not decided)\b"
    r"|\b(?P<neg>not (?:yet )?ready|no[- ]go|(?:do not|don't) (?:start|launch|begin)"
    r"|cannot (?:start|be started))\b"
    r"|\b(?P<pos>(?:is|are|looks?|you(?:'re| are)|fully|all)\s+ready|good to go"
    r"|ready to (?:go|start|launch|run)|(?:safe|fine|clear(?:ed)?) to (?:start|launch|go|proceed)"
    r"|go ahead and (?:start|launch))\b",
    re.IGNORECASE,
)
_ASKS_READY = re.compile(r"\bready\b", re.IGNORECASE)


class Spoken(NamedTuple):
    """A verdict the draft gives, to some nodes, to a number of them, or at large."""

    verdict: Verdict
    nodes: tuple[str, ...]
    at: int  # in the words of the draft
    shown: str
    number: int | None = None
    counts_all: bool = False  # "3 REPLACE": all of them; "REPLACE 3 nodes" may be one group of two


class SaidReady(NamedTuple):
    """Whether a run may start, of one length or at large."""

    ready: Ready
    hours: str | None
    at: int
    shown: str


class SaidCheck(NamedTuple):
    """What the draft says a check came to."""

    check: str
    status: CheckStatus
    at: int
    shown: str


def verdicts_in(draft: Draft) -> Iterator[Spoken]:
    """Yield the verdicts a draft gives; conditions, refusals and quotations are none."""
    under: Spoken | None = None
    of_check = False  # below the heading of a check, UNVERIFIED is a part of it, not a node
    for unit in draft.prose:
        found = list(_in_unit(draft, unit))
        if of_check:
            found = [s for s in found if s.verdict is not Verdict.UNVERIFIED]
        if unit.kind is UnitKind.HEADING:
            of_check = _IS_CHECK.search(unit.text) is not None
            bare = [s for s in found if not s.nodes]
            under = bare[0] if len(found) == 1 and bare else None
        elif not found and under is not None and unit.item and (ids := _ids(unit)):
            yield under._replace(nodes=ids, at=unit.start, number=None)
        yield from found


def _in_unit(draft: Draft, unit: Unit) -> Iterator[Spoken]:
    marks = sorted(_marks(draft, unit), key=lambda m: m[1].start())
    begin = 0
    for end in (*(m.start() for m in re.finditer(";", unit.text)), len(unit.text)):
        own = [mark for mark in marks if begin <= mark[1].start() < end]
        yield from _in_part(unit, own, begin, end)
        begin = end


def _in_part(
    unit: Unit, marks: list[tuple[Verdict, re.Match[str]]], begin: int, end: int
) -> Iterator[Spoken]:
    """Yield the verdicts between two semicolons, each with the nodes named there."""
    ids = [(m[0], m.start()) for m in INSTANCE.finditer(unit.text, begin, end)]
    id_first = bool(ids) and bool(marks) and ids[0][1] < marks[0][1].start()
    for place, (verdict, match) in enumerate(marks):
        after = marks[place + 1][1].start() if place + 1 < len(marks) else end
        before = marks[place - 1][1].end() if place else begin
        # "i-a: REPLACE, i-b: REBOOT" names the node first, "REPLACE i-a, REBOOT i-b" after.
        low, high = (before, match.start()) if id_first else (match.start(), after)
        nodes = tuple(dict.fromkeys(node for node, at in ids if low <= at < high))
        if id_first and len(marks) == 1:
            nodes = tuple(dict.fromkeys(node for node, _ in ids))
        count = _COUNT_BEFORE.search(just_before(unit.text, match.start()))
        group = _COUNT_AFTER.match(unit.text[match.end() :])
        found = count or group
        number = int(found[1]) if found else None
        at = unit.start + match.start()
        yield Spoken(verdict, nodes, at, match[0], number, counts_all=count is not None)


def _marks(draft: Draft, unit: Unit) -> Iterator[tuple[Verdict, re.Match[str]]]:
    taken: list[tuple[int, int]] = []
    for verdict, pattern in _PATTERNS:
        for match in pattern.finditer(unit.text):
            if any(start < match.end() and match.start() < end for start, end in taken):
                continue  # "REBOOT i-…" is the word in capitals, not a directive as well
            taken.append(match.span())
            if verdict is Verdict.UNVERIFIED and _IS_CHECK.search(unit.text):
                continue  # a check's status, not a node's verdict
            if match[0].isupper() and _is_branch_status(unit, match):
                continue
            if _is_given(unit, match) and not draft.in_quotes(unit.start + match.start()):
                yield verdict, match


def _is_given(unit: Unit, match: re.Match[str]) -> bool:
    before = clause_before(unit.text, match.start())
    if _LEAST_BEFORE.search(just_before(unit.text, match.start())) or _LEAST_AFTER.match(
        unit.text, match.end()
    ):
        return False
    if unit.text.rstrip().endswith("?"):
        return False
    if _NOT_GIVEN.search(_ADVISED.sub("", before)):
        return False
    return not _CONDITION_AFTER.match(unit.text[match.end() : match.end() + 60])


def _is_branch_status(unit: Unit, match: re.Match[str]) -> bool:
    """Say whether a status belongs to a branch: `D NOT_OBSERVABLE`, `| D GPU communication | …`."""
    before = just_before(unit.text, match.start())
    near = re.search(r"\b[A-F]\b(?:[ ,(]+[\w ]{0,24})?\W{0,6}\Z", before)
    return near is not None or ("_" in match[0] and INSTANCE.search(unit.text) is None)


def _ids(unit: Unit) -> tuple[str, ...]:
    return tuple(dict.fromkeys(INSTANCE.findall(unit.text)))


def readiness_in(draft: Draft) -> Iterator[SaidReady]:
    """Yield whether a run may start, as the draft says it."""
    asks = {u.block for u in draft.prose if _ASKS_READY.search(u.text)}
    for unit in draft.prose:
        placed: list[int] = []
        for match in _READY_AT.finditer(unit.text):
            if unit.block in asks or unit.kind is UnitKind.ROW:
                placed.append(match.start())
                yield SaidReady(
                    _ready(match["word"]), match["h"], unit.start + match.start(), match[0]
                )
        if placed:
            continue
        for match in _READY.finditer(unit.text):
            word = match["word"] or ("no" if match["neg"] else "yes")
            if match["pos"] and not _is_given(unit, match):
                continue
            yield SaidReady(_ready(word), None, unit.start + match.start(), match[0])


def _ready(word: str) -> Ready:
    lowered = word.lower()
    if "risk" in lowered:
        return Ready.WITH_RISKS
    if "decided" in lowered:
        return Ready.NOT_DECIDED
    return Ready.NO if lowered.startswith("no") else Ready.YES


def checks_in(draft: Draft) -> Iterator[SaidCheck]:
    """Yield what each check came to: `FAIL P1`, `P1: FAIL`, a table row, `P6 PASS, P7 PASS`."""
    for unit in draft.prose:
        marks = list(_CHECK.finditer(unit.text))
        ids = [m for m in marks if m["id"]]
        words = [m for m in marks if m["status"]]
        if unit.kind is UnitKind.ROW and len(ids) == len(words) == 1:
            yield _said(unit, ids[0], words[0])
            continue
        status_first = bool(words) and bool(ids) and words[0].start() < ids[0].start()
        for name in ids:
            own = _beside(unit.text, name, words, status_first=status_first)
            if own is not None:
                yield _said(unit, name, own)


def _beside(
    text: str, name: re.Match[str], words: list[re.Match[str]], *, status_first: bool
) -> re.Match[str] | None:
    """Return the status right before a check's id, else the one after it or its name."""
    for word in words:
        if status_first and word.end() <= name.start():
            if _JOINS.fullmatch(text[word.end() : name.start()]):
                return word
        elif not status_first and word.start() >= name.end():
            return word if _LEADS.fullmatch(text[name.end() : word.start()]) else None
    return None


def _said(unit: Unit, name: re.Match[str], word: re.Match[str]) -> SaidCheck:
    status = CheckStatus(word["status"].replace(" ", "_"))
    at = unit.start + min(name.start(), word.start())
    return SaidCheck(name["id"], status, at, f"{name['id']} {word['status']}")
