"""ANS6: causes carry the evidence's label and branch, and nothing unread is ruled out."""

import re
from collections.abc import Iterator

from gpuvet.checks.answer.phrases import clause_around, is_denied, is_hedged, is_supposed
from gpuvet.checks.answer.rule import Hit, Reading
from gpuvet.checks.answer.words_of_cause import CAUSE, NAMES, NO_CAUSE
from gpuvet.model.cause import Branch, BranchStatus, Label
from gpuvet.parse.draft import Unit

_PROVEN = re.compile(r"\bProven\b|\bPROVEN\b|\b(?:is|are|was|been|label(?:led)?:?|as|a) proven\b")
_ROOT = re.compile(
    r"\broot[- ]causes?\b(?! (?:analysis|candidate|label|column|table|section))", re.IGNORECASE
)
_SURE = re.compile(
    r"\b(?:definite(?:ly)?|certain(?:ly)?|conclusive(?:ly)?|undoubtedly|unquestionabl[ey]|without (?:a |any )?doubt"
    r"|beyond (?:any )?doubt|no doubt|for sure|clearly|confirmed|confirms|proves|proof|demonstrates|100 ?% (?:sure|certain))\b",
    re.IGNORECASE,
)
_DIRECT = re.compile(
    r"\b(?:(?:was|were|is|are|been) caused by|the cause (?:is|was)|(?:is|was|were) (?:due|down) to|because of|culprit|triggered by"
    r"|resulted from|stems? from|is to blame|was to blame|killed by|brought down by)\b",
    re.IGNORECASE,
)
# "Likely root cause", "root cause hypothesis", "root cause (hypothesis)": said at once.
_SOFTENED = re.compile(
    r"\b(?:likely|probabl[ey]|possibl[ey]|suspected|potential|presumed|candidate|apparent|may|might|could|perhaps)\b[^.;:]*root"
    r"|causes?\s?\(?(?:hypothesis|candidate|likely|suspected|probabl|not proven|unproven)",
    re.IGNORECASE,
)
_LABELLED = re.compile(
    r"\bproven\b|\bhypothes[ie]s\b|\bnot[ _]observable\b|\blikely\b|\bprobabl[ey]\b|\bsuspect|\bcandidate\b|\bunproven\b|\bpossibl[ey]\b",
    re.IGNORECASE,
)
_UNREAD = re.compile(
    r"\b(?:not (?:assessed|checked|examined|looked at|read|investigated)|NOT_ASSESSED|unassessed|unchecked)\b",
    re.IGNORECASE,
)
_LETTER = re.compile(
    r"\b(?:root[- ]cause|leading hypothesis|hypothesis|leading branch|branch|cause)\b[\s:(=\u2013\u2014-]{0,4}(?:is |was )?(?:branch )?\(?"
    r"(?P<letter>[A-F])\b(?=\W|$)(?!'|\w)",
    re.IGNORECASE,
)
_NAMED = re.compile(
    r"\b(?:root[- ]cause|leading hypothesis|the cause)\b(?:\s?\([^)]{0,40}\))?\s?(?::|is|was|-|\u2013|\u2014)\W{0,6}(?:the |a |an )?",
    re.IGNORECASE,
)
_NAME = re.compile(
    "|".join(f"(?P<{b.name}>\\b(?:{words})\\b)" for b, words in NAMES.items()), re.IGNORECASE
)
_STATUS = {
    "ruled out": BranchStatus.RULED_OUT,
    "not assessed": BranchStatus.NOT_ASSESSED,
    "not observable": BranchStatus.NOT_OBSERVABLE,
    "root cause": BranchStatus.ROOT_CAUSE,
    "leading hypothesis": BranchStatus.LEADING_HYPOTHESIS,
    "contributing": BranchStatus.CONTRIBUTING,
    "unverified": BranchStatus.UNVERIFIED,
}
_ROW = re.compile(
    r"(?<![\w:])(?P<letter>[A-F])(?![\w:'])(?:[ ,]+\(?[A-Za-z][\w ]{0,28}\)?)?[\s|:(=\u2013\u2014-]{1,5}"
    rf"(?P<status>{'|'.join(words.upper().replace(' ', '[_ ]') for words in _STATUS)}|ruled out|not assessed)\b"
)
_OUT = re.compile(
    r"\b(?:ruled out|rules? out|ruling out|excluded|exonerated|eliminated)\b", re.IGNORECASE
)
_CLEARED = re.compile(
    r"\b(?P<name>{})\b[^.;:?!|]{{0,24}}\b(?:is|are|was|were|has been|have been|can be)\s+(?:also |all |safely |fully )?(?:ruled out|excluded|exonerated|eliminated)\b"
    r"|(?<!to )\b(?:ruled out|rules? out|ruling out|excluded|eliminated)\s+(?:the |any |a )?(?P<name2>{})\b".format(
        *(2 * ["|".join(NAMES.values())])
    ),
    re.IGNORECASE,
)


def label_too_strong(reading: Reading) -> Iterator[Hit]:
    """Proven, root cause or "definitely" where the evidence's label is less."""
    label = reading.told.label
    if label is Label.PROVEN or (label is None and not _admits_gaps(reading)):
        return
    headline = {u.start for u in reading.draft.headline}
    for unit in reading.draft.prose:
        match = _claims_proof(reading, unit, in_headline=unit.start in headline)
        if match is not None:
            said = f"the evidence's label is {label}" if label else "a competitor was not assessed"
            yield Hit(unit.start + match.start(), match[0], f"{said}: {match[0]!r} says more")


def _claims_proof(reading: Reading, unit: Unit, *, in_headline: bool) -> re.Match[str] | None:
    text = unit.text
    if text.rstrip().endswith("?") or NO_CAUSE.search(text):
        return None
    speaks_of_cause = in_headline or CAUSE.search(text) is not None
    for pattern, wanted in (
        (_PROVEN, speaks_of_cause or "label" in text.lower()),
        (_ROOT, True),
        (_SURE, CAUSE.search(text) is not None),
        (_DIRECT, in_headline),
    ):
        match = pattern.search(text) if wanted else None
        if match is None or is_denied(text, match.start()) or is_supposed(text, match.start()):
            continue
        clause = clause_around(text, match.start(), match.end())
        if pattern is _PROVEN and not speaks_of_cause and Label.PROVEN in reading.told.labels:
            continue
        if pattern is _PROVEN and not CAUSE.search(text) and Label.PROVEN in reading.told.labels:
            continue
        if pattern is _ROOT and _SOFTENED.search(
            text[max(0, match.start() - 40) : match.end() + 24]
        ):
            continue
        if pattern in {_SURE, _DIRECT} and is_hedged(text):
            continue
        if not reading.is_evidence(clause) and not reading.is_quoted(unit, *match.span()):
            return match
    return None


def _admits_gaps(reading: Reading) -> bool:
    """Say whether the draft itself calls a branch not assessed."""
    return any(_UNREAD.search(u.text) and _NAME.search(u.text) for u in reading.draft.prose)


def cause_without_label(reading: Reading) -> Iterator[Hit]:
    """A cause stated flatly, in a draft without a single label."""
    if reading.told.modes and "Incident" not in reading.told.modes:
        return
    label = reading.told.label
    if label not in {None, Label.PROVEN} or any(
        _LABELLED.search(u.text) for u in reading.draft.prose
    ):
        return  # a weaker label in the evidence is label-too-strong's
    for unit in reading.draft.headline:
        # "Root cause" says Proven by itself, where the evidence says so too.
        match = (_ROOT.search(unit.text) if label is None else None) or _DIRECT.search(unit.text)
        if match is None or is_denied(unit.text, match.start()) or unit.text.rstrip().endswith("?"):
            continue
        if not is_hedged(unit.text) and not is_supposed(unit.text, match.start()):
            yield Hit(
                unit.start + match.start(), match[0], "a cause, and neither Proven nor Hypothesis"
            )
            return


def other_branch(reading: Reading) -> Iterator[Hit]:
    """A cause in another branch than the evidence's."""
    if reading.told.label is None or not reading.told.branches:
        return
    for unit in reading.draft.prose:
        if NO_CAUSE.search(unit.text) or unit.text.rstrip().endswith("?"):
            continue
        found = _branch_of(unit)
        if (
            found is None
            or found[0] is reading.told.branch
            or is_denied(unit.text, found[1].start())
        ):
            continue
        leading = reading.told.branch
        said = f"the evidence's is {leading}" if leading else "the evidence lets no branch lead"
        yield Hit(
            unit.start + found[1].start(), found[1][0].strip(), f"branch {found[0]}, and {said}"
        )


def _branch_of(unit: Unit) -> tuple[Branch, re.Match[str]] | None:
    """Return the branch a sentence calls the cause, by letter, else by the first name after it."""
    match = _LETTER.search(unit.text)
    if match is not None and match["letter"].isupper():
        return Branch(match["letter"]), match
    match = _NAMED.search(unit.text)
    if match is None:
        return None
    name = _NAME.match(unit.text, match.end())
    return (Branch[name.lastgroup], match) if name and name.lastgroup else None


def branch_not_as_judged(reading: Reading) -> Iterator[Hit]:
    """A branch ruled out that nobody could read, or given another status than the evidence's."""
    told = reading.told.branches
    for unit in reading.draft.prose if told else ():
        placed: set[Branch] = set()
        for match in _ROW.finditer(unit.text):
            branch, status = Branch(match["letter"]), _STATUS[_spelt(match["status"])]
            placed.add(branch)
            if branch in told and told[branch] is not status:
                message = f"{branch} is {told[branch]} by the evidence"
                yield Hit(unit.start + match.start(), match[0].strip(), message)
        for match in _CLEARED.finditer(unit.text):
            branch = _named(match["name"] or match["name2"])
            out = _OUT.search(match[0])
            at = match.start() + (out.start() if out else 0)
            if (
                branch is None
                or branch in placed
                or is_denied(unit.text, at)
                or is_supposed(unit.text, at)
            ):
                continue
            if branch in told and told[branch] in _UNSEEN and not unit.text.rstrip().endswith("?"):
                message = f"{branch} is {told[branch]} by the evidence, not ruled out"
                yield Hit(unit.start + match.start(), match[0], message)


_UNSEEN = frozenset(
    {BranchStatus.NOT_ASSESSED, BranchStatus.NOT_OBSERVABLE, BranchStatus.UNVERIFIED}
)


def _named(words: str) -> Branch | None:
    match = _NAME.match(words)
    return Branch[match.lastgroup] if match and match.lastgroup else None


def _spelt(status: str) -> str:
    return status.replace("_", " ").lower()
