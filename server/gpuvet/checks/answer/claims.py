"""Sentences of a draft that claim an absence, and the hours that a draft states. Pure."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from gpuvet.checks.answer.phrases import clause_around, is_supposed
from gpuvet.checks.answer.rule import Reading
from gpuvet.parse.draft import Unit, UnitKind

_KIND = (
    r"(?:GPU|GPUs'|NVIDIA|NVRM|hardware|Xid|XID|NVLink|NVSwitch|ECC|PCIe|HBM|driver|kernel|memory|node"
    r"|fatal|critical|further|other|new|such|real|actual|single|uncorrectable|relevant|logged"
    r"|reported|recorded|sign of|signs of|trace of|evidence of|indication of|indications of|a|an"
    r"|any|GPU-related|hardware-related|or|and|/)"
)
_SURE = r"(?:errors?|faults?|S?Xids?\b|XIDs?\b|anomal(?:y|ies)|defects?|(?:row )?remaps?)"
_OWNED = r"(?:problems?|issues?|failures?|trouble|damage|detections? of faults?)"
_OWNER = r"(?:GPU|hardware|NVLink|NVSwitch|ECC|PCIe|memory|node|GPU-related|hardware-related)"
_THING = rf"(?:(?:{_KIND}\s+){{0,4}}{_SURE}|(?:{_KIND}\s+){{0,3}}{_OWNER}\s+{_OWNED})"
_NO = (
    r"(?:no|zero|0|not? (?:a single|one)|without(?: any| a| a single)?|free (?:of|from)(?: any)?"
    r"|never\s+(?:any|logged|reported|saw|showed|had|raised|threw)(?: an?| any| a single)?"
    r"|(?:did|does|do|has|have|had|was|were|could|is|are)\s?(?:not|n't)\s+(?:find|found|see|seen|log|logged|surface|turn up|return|produce|throw|raise"
    r"|report|reported|show|shown|record|recorded|have|contain|hold|any)\s?(?:any|an?)?(?: sign of)?"
    r"|(?:found|saw|see|shows?|showed|has|have|had|logged|reported) (?:no|none|zero|0)"
    r"|none of (?:the |these |its |our )?\w+ (?:logged|reported|showed|shows|had|has|recorded)(?: an?y?| a single)?)"
)
_ABSENCES = (
    re.compile(rf"(?<![\w.,-]){_NO}\s+{_THING}", re.IGNORECASE),
    re.compile(
        r"\bno (?:problems?|issues?|failures?|errors?|faults?) (?:was |were |have been |has been |got )?"
        r"(?:seen|found|observed|detected|logged|reported|noticed|visible|turned up|surfaced|showed up|came up)\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?:\b(?:GPUs?|nodes?|hardware|cluster|fleet|instances?|machines?|hosts?|everything|all"
        r"|both|they|drivers?|logs?|(?<!file )systems?)\b|\bi-[0-9a-f]{8,17}\b)[^.;:?!\n]{0,60}?"
        r"\b(?:is|are|was|were|looks?|looked|appears?|seems?|seemed|remain(?:s|ed)?|stayed|been|(?:came|comes?) back)\s+"
        r"(?:all |both |completely |perfectly |fully |entirely |otherwise |currently |still |in )*"
        r"(?:healthy|clean|fine|error[- ]free|fault[- ]free|good health|sound|ok(?:ay)?|cleared|good|not (?:faulty|defective|broken|damaged)|a healthy (?:node|instance|GPU))\b"
        r"(?!\s+(?:kernel|for|enough|up))",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:error[- ]free|fault[- ]free|(?:a )?clean bill of health|all[- ]clear|nothing (?:is|was|went) wrong"
        r"|nothing wrong with (?:the )?(?:GPUs?|nodes?|hardware|cluster)"
        r"|all green|has a clean (?:kernel )?log|nothing (?:turned up|came up|showed up|in the (?:\w+ )?logs?)"
        r"|found nothing|nothing (?:was )?(?:found|logged|reported|out of the ordinary|suspicious|unusual)"
        r"|(?:the )?(?:hardware|GPUs?|nodes?|cluster) checks? out)\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b{_OWNER}?\s?(?:S?Xids?|XIDs?|errors?|faults?)(?: events?| lines?| count| found| seen)?(?: on \S{{1,40}}?)?"
        r"\s*(?:[:=]|\|)\s*(?:0|none|zero|no)\b(?!\s*(?:of|/)\s*\d)",
        re.IGNORECASE,
    ),
)
_STATE = re.compile(
    r"\A\W*(?:healthy|clean|ok|no errors?|no xids?|error[- ]free|fine|none|0 errors?)\W*\Z",
    re.IGNORECASE,
)
# After a claim: what takes it back.
_TAKEN_BACK = re.compile(
    r"\A[\"'\u201d\u2019)\s]*(?:,?\s*(?:here|there|so far|alone|(?:on|in|for|by) \S+)\s)?(?:(?:(?:is|are|was|were|would|can|could|must|may|does|do|should|"
    r"proves?|means?)\s?(?:not|n't|nothing|never|little)\b)|cannot\b|can't\b|is (?:unknown|unproven|unsupported|no proof)"
    r"|proves? (?:nothing|little)|(?:is|was|are|were|can be|has been) (?:ruled out|excluded)|is (?:more|less) than|would (?:be|need)|means? (?:nothing|little))",
    re.IGNORECASE,
)
# Before a claim: what it is not said of.
_UNSAID = re.compile(
    r"\b(?:not (?:the same as|proof of|evidence of|to be read as|mean(?:ing)?|say(?:ing)?|claim(?:ing)?"
    r"|conclude|show|prove|establish|way of saying)|whether|cannot|can't|could not|couldn't|does not|doesn't|never|neither"
    r"|don't|do not|rather than|instead of|claim(?:ing)? (?:of|that)|read as|call(?:ed|ing)? (?:it|them|this)"
    r"|must not|unable to|impossible to|no (?:basis|way|proof|evidence) (?:to|that|for|of)|(?:ask|asked|asks|want|wanted|wants|tried|trying|like)\b[^.;]{0,40}\bconfirm|if|unless|until"
    r"|even if|were there|was there|are there|is there|any proof of|to say|to claim|to be sure|assum\w+)\b[^.;]{0,80}\Z",
    re.IGNORECASE,
)
HOURS = re.compile(
    r"\b(?P<n>\d{1,6})\s?(?:of|/|out of)\s?(?:the |all )?(?P<m>\d{1,6})\s?(?:measured |observable )?(?:node-?)?h(?:(?:ou)?rs?)?\b"
    r"|\b(?:all|every one of(?: the)?|each of the|across all|in all|for all)\s+(?:of the )?\d{1,6}\s?(?:measured |consecutive )?(?:node-?)?h(?:(?:ou)?rs?)?\b"
    r"|\b(?:every|each)(?: single| one)?(?: \w+)? hour\b|\bhour by hour\b"
    r"|\b\d{1,6} (?:measured|observed|live|covered) (?:node-?)?h(?:(?:ou)?rs?)?\b"
    r"|\b\d{1,6} (?:node-?)?h(?:ours?)? (?:were |was |are )?(?:measured|observed|seen|covered|live)\b",
    re.IGNORECASE,
)
PAIR = re.compile(r"(?<![\w.,:-])(\d{1,6})\s?(?:of|/)\s?(\d{1,6})(?![\w:-]|\.\d)")
_MEASURED = re.compile(r"\b(?:0|zero|no) S?Xids? measured\b", re.IGNORECASE)
_CHECK_NAME = re.compile(r"\bP\d{1,2}\b[^.;,]{0,60}\Z")  # P13 what manages the cluster is healthy
_COVERAGE = re.compile(
    r"\bcoverage\b|\b(?:hours?|logs?|streams?|lines)\b[^.;]{0,30}\b(?:seen|measured|observed|live|covered)\b",
    re.IGNORECASE,
)
_BESIDE = 2  # blocks between a claim and its hours
INSTANCE = re.compile(r"(?<![\w./-])i-[0-9a-f]{8,17}(?![\w-]|\.\w)")


class Absence(NamedTuple):
    """One claim that something is not there."""

    unit: Unit
    start: int  # in the unit
    shown: str

    @property
    def nodes(self) -> frozenset[str]:
        """The nodes that its part of the sentence names."""
        text = self.unit.text
        if self.unit.kind is UnitKind.ROW:
            return frozenset(INSTANCE.findall(text))
        begin = text.rfind(";", 0, self.start) + 1
        end = text.find(";", self.start)
        return frozenset(INSTANCE.findall(text[begin : end if end >= 0 else len(text)]))


def absences(reading: Reading) -> Iterator[Absence]:
    """Yield the claims that a draft makes as its own and takes back nowhere in their sentence."""
    for unit in reading.draft.prose:
        for match in _matches(unit):
            start, end = match
            shown = unit.text[start:end].strip()
            if _is_made(reading, unit, start, end):
                yield Absence(unit, start, shown)


def _matches(unit: Unit) -> Iterator[tuple[int, int]]:
    seen: list[tuple[int, int]] = []
    for pattern in _ABSENCES:
        for match in pattern.finditer(unit.text):
            if not any(a < match.end() and match.start() < b for a, b in seen):
                seen.append((match.start(), match.end()))
    if unit.kind is UnitKind.ROW:
        at = 0
        for cell in unit.text.split("|"):
            if _STATE.match(cell) and INSTANCE.search(unit.text):
                seen.append((at, at + len(cell)))
            at += len(cell) + 1
    elif found := re.search(
        r"(?:i-[0-9a-f]{8,17})\W{0,3}[:\u2013\u2014-]\s*(?:healthy|clean|ok|fine)\b",
        unit.text,
        re.IGNORECASE,
    ):
        seen.append(found.span())
    yield from sorted(seen)


def _is_made(reading: Reading, unit: Unit, start: int, end: int) -> bool:
    text = unit.text
    if text.rstrip().endswith("?") or reading.is_quoted(unit, start, end):
        return False
    if _UNSAID.search(text, 0, start) or _TAKEN_BACK.match(text[end:]):
        return False
    if _CHECK_NAME.search(text, 0, end):
        return False
    if re.search(r"(?<![\w-])(?:not|never|nor)\s+(?:\w+\s+)?\Z", text[:start], re.IGNORECASE):
        return False
    if is_supposed(text, start) and not re.search(r"\bmay be\b", text[start:end]):
        return False
    own = reading.statement_of(clause_around(text, start, end))
    return own is None or (HOURS.search(own) is not None and HOURS.search(text) is None)


def says_measured(absence: Absence) -> bool:
    """Say whether a claim is a verdict's own `0 Xids measured`."""
    return _MEASURED.search(absence.unit.text) is not None


def states_hours(reading: Reading, absence: Absence) -> bool:
    """Say whether a draft gives the hours behind a claim, of the nodes that it names.

    They stand beside it, in a table, or where the draft speaks of coverage.
    """
    return any(_backs(unit, found, absence) for unit, found in _stated(reading))


def _stated(reading: Reading) -> Iterator[tuple[Unit, re.Match[str]]]:
    tables = re.search(r"\bhours?\b|\bh\b", reading.draft.words) is not None
    for unit in reading.draft.prose:
        found = HOURS.search(unit.text)
        if found is None and tables and unit.kind is UnitKind.ROW:
            found = PAIR.search(unit.text)
        if found is not None:
            yield unit, found


def _backs(unit: Unit, found: re.Match[str], absence: Absence) -> bool:
    away = abs(unit.block - absence.unit.block)
    if away == 0:
        return True
    if away > _BESIDE and unit.kind is not UnitKind.ROW and not _COVERAGE.search(unit.text):
        return False
    nodes = frozenset(INSTANCE.findall(unit.text))
    return not absence.nodes or bool(nodes & absence.nodes) or (not nodes and _is_full(found))


def _is_full(found: re.Match[str]) -> bool:
    numbers = re.findall(r"\d+", found[0])
    return len(numbers) < 2 or numbers[0] == numbers[1]
