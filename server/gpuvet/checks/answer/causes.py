"""ANS6: causes carry the evidence's label and branch, and nothing unread is ruled out."""

import re
from collections.abc import Iterator

from gpuvet.checks.answer.phrases import clause_around, is_denied, is_hedged, is_supposed
from gpuvet.checks.answer.rule import Hit, Reading
from gpuvet.checks.answer.words_of_cause import (
    CAUSE,
    CLEARED,
    DIRECT,
    LABELLED,
    LETTER,
    NAME,
    NAMED,
    NO_CAUSE,
    OUT,
    PROVEN,
    ROOT,
    SOFTENED,
    SURE,
    UNREAD,
)
from gpuvet.model.cause import Branch, BranchStatus, Label
from gpuvet.parse.draft import Unit

_STATUS = {
    "ruled out": BranchStatus.RULED_OUT,
    "not assessed": BranchStatus.NOT_ASSESSED,
    "not observable": BranchStatus.NOT_OBSERVABLE,
    "root cause": BranchStatus.ROOT_CAUSE,
    "leading hypothesis": BranchStatus.LEADING_HYPOTHESIS,
    "contributing": BranchStatus.CONTRIBUTING,
    "unverified": BranchStatus.UNVERIFIED,
}
_IN_CAPITALS = "|".join(words.upper().replace(" ", "[_ ]") for words in _STATUS)
# "D NOT_OBSERVABLE", "| C storage | RULED OUT |", "B capacity: ruled out".
_ROW = re.compile(
    r"(?<![\w:])(?P<letter>[A-F])(?![\w:'])(?:[ ,]+\(?[A-Za-z][\w ]{0,28}\)?)?"
    rf"[\s|:(=\u2013\u2014-]{{1,5}}(?P<status>{_IN_CAPITALS}|ruled out|not assessed)\b"
)
_UNSEEN = frozenset(
    {BranchStatus.NOT_ASSESSED, BranchStatus.NOT_OBSERVABLE, BranchStatus.UNVERIFIED}
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
        (PROVEN, speaks_of_cause or "label" in text.lower()),
        (ROOT, True),
        (SURE, CAUSE.search(text) is not None),
        (DIRECT, in_headline),
    ):
        match = pattern.search(text) if wanted else None
        if match is None or is_denied(text, match.start()) or is_supposed(text, match.start()):
            continue
        clause = clause_around(text, match.start(), match.end())
        if pattern is PROVEN and not speaks_of_cause and Label.PROVEN in reading.told.labels:
            continue
        if pattern is PROVEN and not CAUSE.search(text) and Label.PROVEN in reading.told.labels:
            continue
        if pattern is ROOT and SOFTENED.search(text[max(0, match.start() - 40) : match.end() + 24]):
            continue
        if pattern in {SURE, DIRECT} and is_hedged(text):
            continue
        if not reading.is_evidence(clause) and not reading.is_quoted(unit, *match.span()):
            return match
    return None


def _admits_gaps(reading: Reading) -> bool:
    """Say whether the draft itself calls a branch not assessed."""
    return any(UNREAD.search(u.text) and NAME.search(u.text) for u in reading.draft.prose)


def cause_without_label(reading: Reading) -> Iterator[Hit]:
    """A cause stated flatly, in a draft without a single label."""
    if reading.told.modes and "Incident" not in reading.told.modes:
        return
    label = reading.told.label
    if label not in {None, Label.PROVEN} or any(
        LABELLED.search(u.text) for u in reading.draft.prose
    ):
        return  # a weaker label in the evidence is label-too-strong's
    for unit in reading.draft.headline:
        # "Root cause" says Proven by itself, where the evidence says so too.
        match = (ROOT.search(unit.text) if label is None else None) or DIRECT.search(unit.text)
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
    match = LETTER.search(unit.text)
    if match is not None and match["letter"].isupper():
        return Branch(match["letter"]), match
    match = NAMED.search(unit.text)
    if match is None:
        return None
    name = NAME.match(unit.text, match.end())
    return (Branch[name.lastgroup], match) if name and name.lastgroup else None


def branch_not_as_judged(reading: Reading) -> Iterator[Hit]:
    """A branch ruled out that nobody could read, or given another status than the evidence's."""
    told = reading.told.branches
    for unit in reading.draft.prose if told else ():
        rows = list(_ROW.finditer(unit.text))
        for match in rows:
            branch, status = Branch(match["letter"]), _STATUS[_spelt(match["status"])]
            if branch in told and told[branch] is not status:
                message = f"{branch} is {told[branch]} by the evidence"
                yield Hit(unit.start + match.start(), match[0].strip(), message)
        placed = {match["letter"] for match in rows}
        for branch, match in _ruled_out(unit):
            if branch.value not in placed and told.get(branch) in _UNSEEN:
                message = f"{branch} is {told[branch]} by the evidence, not ruled out"
                yield Hit(unit.start + match.start(), match[0], message)


def _ruled_out(unit: Unit) -> Iterator[tuple[Branch, re.Match[str]]]:
    """Yield the branches that a sentence rules out by name."""
    if unit.text.rstrip().endswith("?"):
        return
    for match in CLEARED.finditer(unit.text):
        branch, out = _named(match["name"] or match["name2"]), OUT.search(match[0])
        at = match.start() + (out.start() if out else 0)
        if branch and not is_denied(unit.text, at) and not is_supposed(unit.text, at):
            yield branch, match


def _named(words: str) -> Branch | None:
    match = NAME.match(words)
    return Branch[match.lastgroup] if match and match.lastgroup else None


def _spelt(status: str) -> str:
    return status.replace("_", " ").lower()
