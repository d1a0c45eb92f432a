"""ANS5: a verdict exists, is the evidence's, leaves no node out, and the headline agrees."""

import re
from collections.abc import Iterator, Mapping
from itertools import islice

from gpuvet.checks.answer.phrases import any_of, is_denied, is_hedged, is_supposed
from gpuvet.checks.answer.rule import Hit, Reading
from gpuvet.checks.answer.spoken import Spoken, checks_in, readiness_in, verdicts_in
from gpuvet.checks.answer.words_of_cause import CAUSE, NO_CAUSE
from gpuvet.model.readiness import Ready
from gpuvet.model.verdict import Verdict

_CLUSTER = re.compile(
    r"\b(?:GPUs?|Xids?|nodes?|clusters?|NCCL|EFA|HyperPod|Slurm|training)\b"
    r"|\b(?:i|cr|fs)-[0-9a-f]{8,17}\b",
    re.IGNORECASE,
)
_MOST = 1000  # verdicts of one draft that are held against the evidence
_FEW = 4  # nodes that a short answer names each
_ACTING = frozenset({Verdict.REPLACE, Verdict.REBOOT})
_OPEN = frozenset({Verdict.UNVERIFIED})
_PART = any_of("GPU", "hardware", "node", "NVLink", "NVSwitch", "HBM")
_HARDWARE = re.compile(
    r"\b"
    + any_of(
        rf"(?:{_PART}|device|memory)[- ](?:hardware[- ])?"
        r"(?:error|fault|failure|problem|issue|defect)s?",
        rf"(?:bad|broken|faulty|defective|failed|failing|dead|dying) (?:{_PART}|card)s?",
        r"hardware (?:is|was|has) (?:broken|failed|faulty|defective|to blame|at fault)",
        r"GPUs? (?:is|are|was|has|have) (?:broken|failed|died|dead|faulty|defective)",
    )
    + r"\b",
    re.IGNORECASE,
)
_SETTLES = re.compile(
    r"\b(?:decid|check|measur|closes? with|settle|confirm|until|right in any case|needs?|query|read"
    r"|run|verify|compare|look at|minimum|at least|would tell|tells?)\w*",
    re.IGNORECASE,
)
_CLAIM = re.compile(
    r"\b(?:no|zero|\d+) S?Xids?\b[^.;]{0,40}\b\d+ of \d+ (?:node-?)?h"
    r"|\bkernel log (?:was )?seen in\b|\bmay be claimed\b",
    re.IGNORECASE,
)
_SENTENCE_VERDICT = re.compile(
    r"\b(?:I|we) (?:would|recommend|suggest|advise|propose)\b[^.]{0,60}"
    r"\b(?:replac|reboot|leav|monitor)"
    r"|\b(?:should|must|needs? to) be (?:replaced|rebooted|monitored|left alone)\b"
    r"|\b(?:hardware|GPUs?|nodes?)\b.{0,40}\b(?:is|are|was|were)\s+(?:not )?"
    r"(?:clean|healthy|fine|cleared|faulty|bad|broken|to blame)\b"
    r"|\bnot observable\b|\bunverified\b|\bno action (?:is )?(?:needed|required)\b"
    r"|\bapplication (?:error|fault|bug|problem)\b",
    re.IGNORECASE,
)


def _spoken(reading: Reading) -> tuple[Spoken, ...]:
    return tuple(islice(verdicts_in(reading.draft), _MOST))


def no_verdict(reading: Reading) -> Iterator[Hit]:
    """A draft that gives evidence, or none, and decides nothing."""
    draft = reading.draft
    if not _can_be_decided(reading) or _decides(reading):
        return
    start = draft.prose[0].start if draft.prose else 0
    yield Hit(
        start, "", "no node gets a verdict, no cause is named, and no run is called ready or not"
    )


def _can_be_decided(reading: Reading) -> bool:
    """Say whether the run was about a cluster at all."""
    told = reading.told
    if told.verdicts or told.ready:
        return True
    words = (reading.asked,) if reading.asked else reading.backing.texts
    return any(_CLUSTER.search(text) for text in words)


def _decides(reading: Reading) -> bool:
    draft = reading.draft
    if any(True for _ in reading.once(_spoken)) or any(True for _ in readiness_in(draft)):
        return True
    if any(CAUSE.search(u.text) and not NO_CAUSE.search(u.text) for u in draft.prose):
        return True
    return any(
        (_CLAIM.search(u.text) or _SENTENCE_VERDICT.search(u.text))
        and not u.text.rstrip().endswith("?")
        for u in draft.prose
    )


def verdict_not_the_evidences(reading: Reading) -> Iterator[Hit]:
    """A verdict that differs from the evidence's: of a node, of a number of nodes, or at large."""
    told = reading.told.verdicts
    if not told:
        return
    headline = {u.start for u in reading.draft.headline}
    for spoken in reading.once(_spoken):
        wrong = [n for n in spoken.nodes if n in told and not _is_right(reading, n, spoken)]
        number = sum(1 for v in told.values() if v is spoken.verdict)
        if wrong:
            message = f"{wrong[0]} is {told[wrong[0]]} by the evidence, not {spoken.verdict}"
            yield Hit(spoken.at, spoken.shown, message)
        elif spoken.nodes:
            continue
        elif spoken.number is not None and spoken.shown.isupper() and _is_off(spoken, number):
            message = f"{number} nodes are {spoken.verdict} by the evidence, not {spoken.number}"
            yield Hit(spoken.at, spoken.shown, message)
        elif _stands_in(reading, spoken.at, headline) and number == 0:
            message = f"no node is {spoken.verdict} by the evidence"
            yield Hit(spoken.at, spoken.shown, message)


def _is_right(reading: Reading, node: str, spoken: Spoken) -> bool:
    """Say whether a node has this verdict, or this as a first step, or a NOT_OBSERVABLE log."""
    if reading.told.verdicts[node] is spoken.verdict:
        return True
    least = reading.told.minimum.get(node, "")
    is_step = not spoken.shown.isupper() and spoken.verdict.lower() in least
    return is_step or ("_" in spoken.shown and node in reading.told.dark_sources)


def _is_off(spoken: Spoken, number: int) -> bool:
    """Say whether a number of nodes is wrong; one group (`REPLACE 2 nodes`) may be smaller."""
    count = spoken.number or 0
    return count > number or (spoken.counts_all and count != number)


def _stands_in(reading: Reading, at: int, starts: set[int]) -> bool:
    unit = reading.draft.unit_at(at)
    return unit is not None and unit.start in starts


def verdict_left_out(reading: Reading) -> Iterator[Hit]:
    """A node to replace, to reboot or to look at again that the draft never names."""
    told = reading.told.verdicts
    urgent = [n for n, v in told.items() if v in _ACTING | _OPEN]
    spoken = list(reading.once(_spoken))
    words = reading.draft.words
    if any(r in reading.told.modes for r in ("Preflight",)) and any(
        True for _ in readiness_in(reading.draft)
    ):
        return
    for node in urgent if _decides(reading) else ():
        counted = any(s.verdict is told[node] and (s.number or 0) > _FEW for s in spoken)
        if node not in words and not counted and not _is_cut(words, node):
            yield Hit(0, node, f"{node} is {told[node]} by the evidence and is not mentioned")


def _is_cut(words: str, node: str) -> bool:
    return any(
        f"{node[:length]}{dots}" in words for length in range(5, 17) for dots in ("…", "...")
    )


def hardware_in_headline(reading: Reading) -> Iterator[Hit]:
    """A hardware error in the headline, and no node to replace or reboot for hardware."""
    told = reading.told
    if not told.verdicts or told.hardware:
        return
    for unit in reading.draft.headline:
        match = _HARDWARE.search(unit.text)
        if (
            match is None
            or unit.text.rstrip().endswith("?")
            or reading.is_quoted(unit, *match.span())
        ):
            continue
        if is_denied(unit.text, match.start()) or is_supposed(unit.text, match.start()):
            continue
        if not is_hedged(unit.text) and not reading.is_evidence(unit.text):
            message = "no node is REPLACE or REBOOT on hardware grounds"
            yield Hit(unit.start + match.start(), match[0], message)


def unverified_without_check(reading: Reading) -> Iterator[Hit]:
    """UNVERIFIED without what to do in any case and the check that decides it."""
    for spoken in reading.once(_spoken):
        unit = reading.draft.unit_at(spoken.at)
        if spoken.verdict is not Verdict.UNVERIFIED or unit is None or spoken.number is not None:
            continue
        near = [
            u
            for u in reading.draft.prose
            if 0 <= u.block - unit.block <= 3 or any(node in u.text for node in spoken.nodes)
        ]
        rest = "".join(u.text for u in near).replace(spoken.shown, "")
        if not _SETTLES.search(rest):
            yield Hit(spoken.at, spoken.shown, "UNVERIFIED stands alone: which check decides it?")


def readiness_not_the_evidences(reading: Reading) -> Iterator[Hit]:
    """Ready where the evidence says not, or the other way round; a check's status likewise."""
    told = reading.told.ready
    for said in readiness_in(reading.draft) if told else ():
        own = told.get(said.hours) if said.hours is not None else None
        if said.hours is not None and own is None:
            continue
        known = [own] if own is not None else list(told.values())
        fits = said.ready in known or (said.hours is None and _agrees(said.ready, known))
        if not fits:
            yield Hit(said.at, said.shown, f"the evidence says {_spelt(told)}")


def check_not_as_judged(reading: Reading) -> Iterator[Hit]:
    """A preflight check with a status that the evidence does not give it."""
    told = reading.told.checks
    for said in checks_in(reading.draft) if told else ():
        if said.check in told and said.status not in told[said.check]:
            shown = " or ".join(sorted(told[said.check]))
            yield Hit(said.at, said.shown, f"{said.check} is {shown} by the evidence")


def _agrees(ready: Ready, known: list[Ready]) -> bool:
    """Say whether a plain yes or no is no more than the evidence's."""
    if ready is Ready.YES:
        return False
    return ready is Ready.NO and Ready.NOT_DECIDED in known


def _spelt(told: Mapping[str, Ready]) -> str:
    return "; ".join(f"{hours} h: {ready}" for hours, ready in told.items())
