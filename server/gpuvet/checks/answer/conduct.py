"""ANS7: nothing proposed is told as done, nothing is asked before the answer, nothing leaks."""

import re
from collections.abc import Iterator

from gpuvet.checks.answer.rule import Hit, Reading
from gpuvet.checks.answer.spoken import readiness_in, verdicts_in
from gpuvet.checks.answer.words_of_cause import CAUSE
from gpuvet.parse.accounts import other_reading, proved_accounts, twelve_digits
from gpuvet.parse.commands import Effect, parse_command
from gpuvet.parse.draft import Unit
from gpuvet.parse.untrusted import mask

_PAST = (
    r"re-?(?:booted|started|placed|queued|launched|submitted)|rebooted|restarted|replaced|drained|cordoned|uncordoned"
    r"|evicted|terminated|deleted|killed|cancell?ed|requeued|isolated|power[- ]cycled|repaired|rolled back|quarantined"
    r"|deregistered|detached|scaled(?: up| down)?|resized|patched|reset|recovered"
)
# Also said of harmless things: "I set the window", "I opened the log". They need an object.
_WIDE = (
    r"set|turned (?:on|off)|enabled|disabled|changed|updated|upgraded|modified|applied|attached|created|opened|filed|raised"
    r"|requested|submitted|extended|increased|raised|removed|stopped|started|launched|resumed|fixed|added|moved|issued|sent"
    r"|triggered|initiated|kicked off|scheduled|executed|purchased|bought|tagged|released|put"
)
_OBJECT = (
    r"(?:nodes?|instances?|cluster|job|reservation|capacity block|training plan|file system|FSx|NodeRecovery|node recovery"
    r"|automatic recovery|drivers?|security group|outbound rule|rules? of sg-\w+|support (?:case|ticket)|ticket|GPUs?|daemonset|DaemonSet"
    r"|fabric manager|partition|replacement|reboot|restart|drain|throughput|IOPS|AMI|pods?|deep health checks?|alarm|EventBridge rule"
    r"|extension|service|UpdateCluster|UpdateFileSystem|Batch\w+ClusterNodes|\w+ API call|i-[0-9a-f]{8,17}|fs-[0-9a-f]{8,17}|cr-[0-9a-f]{8,17}"
    r"|kubectl|scontrol|sbatch|scancel)"
)
_I = r"(?:\bI|\bwe|\bI've|\bI have|\bI\u2019ve|\bwe've|\bwe have|\bwe\u2019ve|\bgpuvet(?: has)?|\bthe (?:agent|assistant|tool)(?: has)?)"
_ADVERB = r"(?:\s+(?:have|has|had|also|already|just|now|then|therefore|successfully|gone ahead and|went ahead and|went on and|immediately|safely|since|so))*"
_DONE = (
    re.compile(rf"{_I}{_ADVERB}\s+(?P<verb>{_PAST})\b(?!\s+(?:the |this |that |any )?(?:account|text|word|name|placeholder|number|reading|query|search))", re.IGNORECASE),
    re.compile(rf"{_I}{_ADVERB}\s+(?P<verb>{_WIDE})\b[^.;\n]{{0,50}}?\b{_OBJECT}\b(?!\s+(?:logs?|stream|metrics?|list|history|events|report|window|table|status|query|names?|ids?)\b)", re.IGNORECASE),
    re.compile(r"\b(?:I'm|I am|I\u2019m|we're|we are)\s+(?:now |currently |already )*(?P<verb>rebooting|restarting|replacing|draining|cordoning|terminating|requeu(?:e)?ing|evicting|resubmitting|deleting)\b", re.IGNORECASE),
    re.compile(r"(?:\A|[.;:!]\s+|\bdone[:,.]?\s+)(?:Done[,:.]?\s*)?(?:and )?(?P<verb>Rebooted|Restarted|Replaced|Drained|Cordoned|Terminated|Requeued|Power-cycled)\s+(?:the |node |both |all |`?i-)", re.IGNORECASE),
)  # fmt: skip
_PASSIVE = re.compile(
    rf"\b(?P<subject>(?:{_OBJECT}|it|they|both|all(?: \d+)?(?: of them)?)(?:\s+\S{{1,30}}){{0,4}}?)\s+(?:has|have)\s+(?:now |already |just |since |also )*been\s+"
    rf"(?:successfully |safely |now )*(?P<verb>{_PAST}|{_WIDE})\b",
    re.IGNORECASE,
)
_UNDERWAY = re.compile(
    r"\b(?:the |a |an )?(?P<verb>reboot|restart|replacement|drain|requeue|termination|rollback|resize|extension|support (?:case|ticket)|ticket)\b(?:\s+(?:of|for|request|call)\b[^.;:]{0,40}?)?"
    r"\s+(?:is|was|has been|are|were)\s+(?:now |already |just )*(?:requested|initiated|triggered|submitted|issued|started|underway|under way|in progress"
    r"|running|opened|filed|raised|scheduled|complete[d]?|done|executed|successful|sent)\b"
    r"|\b(?P<verb2>reboot|restart|replacement|drain)\s*[:\u2013\u2014-]\s*(?:done|completed?|executed|initiated|requested|in progress)\b"
    r"|\b(?P<verb3>REBOOT|REPLACE|DRAIN)\W{0,6}(?:done|completed|executed)\b",
    re.IGNORECASE,
)
_RAN = re.compile(
    r"\b(?:I|we|I've|we've|I have|we have|has been|have been|was|already)\s+(?:just |now |already |then )*"
    r"(?:ran|run|executed|issued|called|invoked|submitted|applied)\b|\b(?:Ran|Executed|Issued)\b"
)
# "I requested the streams of every node": what was asked for is a reading.
_HARMLESS = re.compile(
    r"\b(?:logs?|streams?|lines|metrics?|list|history|events?|window|table|status|quer(?:y|ies)|names?|ids?"
    r"|reports?|counts?|coverage|readings?|output|details|description|search(?:es)?|hours?|verdicts?|labels?)\b",
    re.IGNORECASE,
)
_PROGRAM = re.compile(
    r"\b(?:aws|kubectl|scontrol|scancel|sbatch|systemctl|nvidia-smi|pcluster|hyp|eksctl|helm|sudo) "
)
_UNDONE = re.compile(
    r"\b(?:not|never|n't|nothing|no|nobody|none|once|after|if|unless|until|till|when|before|whether|should|must|needs? to|to be|would|could|can|may|might|as soon as|without"
    r"|assuming|in case|had i|were i|ask(?:ed)? (?:to|that|for)|recommend(?:ed)?|suggest(?:ed)?|propose[sd]?|propos(?:e|ing)|advise|either|you)\b[^.;]*\Z",
    re.IGNORECASE,
)
_STEMS = (
    "reboot",
    "restart",
    "replac",
    "terminat",
    "delet",
    "stop",
    "start",
    "updat",
    "creat",
    "launch",
    "drain",
    "upgrad",
    "end",
)
_ASKS = re.compile(
    r"\b(?:could|can|would|will) you (?:please |kindly |also )?(?:share|provide|tell|confirm|specify|give|send|clarify|let|paste|check|run|describe|point|help|upload|attach)\b"
    r"|\bplease (?:share|provide|confirm|specify|tell|clarify|let me know|send|paste|supply|upload|attach|give|choose|select|advise)\b"
    r"|\b(?:which|what|whose) (?:cluster|node|nodes|window|region|time|time ?range|period|account|job|instance|environment|orchestrator|profile|log group|date)\b[^.!?]{0,120}\?"
    r"|\b(?:do|did) you (?:want|have|know|mean|see|use)\b[^.!?]{0,160}\?|\bwould you like\b|\bshall i\b|\bshould i\b[^.!?]{0,120}\?"
    r"|\bI(?:'ll| will)? (?:would )?need (?:more|to know|you to|some more|a few|the following|additional)\b|\blet me know (?:which|what|if|whether|the|when)\b"
    r"|\bbefore I (?:can )?(?:answer|start|proceed|decide|begin|go on|investigate|look)\b|\bwhen did (?:this|it|the)\b[^.!?]{0,100}\?"
    r"|\bto (?:answer|help|investigate|proceed)[^.!?]{0,40}\bI need\b|\bcan you confirm\b",
    re.IGNORECASE,
)
_HYPHENED = re.compile(r"(?<![\d-])(\d{4})-(\d{4})-(\d{4})(?![\d-])")
_ACCOUNT = re.compile(r"account\b[^.\n]{0,24}\Z", re.IGNORECASE)


def proposed_as_done(reading: Reading) -> Iterator[Hit]:
    """A reboot, a replacement or any other change told as made, by the one who answers."""
    for unit in reading.draft.prose:
        match = _done(reading, unit)
        if match is not None:
            message = f"{match[0].strip()!r}: nothing is ever changed, only proposed"
            yield Hit(unit.start + match.start(), match[0].strip(), message)


def _done(reading: Reading, unit: Unit) -> re.Match[str] | None:
    text = unit.text
    if text.rstrip().endswith("?"):
        return None
    for pattern in _DONE:
        for match in pattern.finditer(text):
            if _HARMLESS.search(match[0]) or reading.is_quoted(unit, *match.span()):
                continue
            if not _UNDONE.search(text, 0, match.start()):
                return match
    for pattern in (_PASSIVE, _UNDERWAY):
        for match in pattern.finditer(text):
            verb = next(v for k, v in match.groupdict().items() if k.startswith("verb") and v)
            if _UNDONE.search(text, 0, match.start()) or reading.is_quoted(unit, *match.span()):
                continue
            if not _happened(reading, verb) and not reading.is_evidence(text):
                return match
    return _ran(text)


def _ran(text: str) -> re.Match[str] | None:
    """Return where a sentence says that a command that changes something was run."""
    for place in _PROGRAM.finditer(text):
        command = parse_command(text[place.start() :])
        if command is None or command.effect is not Effect.CHANGES:
            continue
        said = list(_RAN.finditer(text, 0, place.start()))
        if said and not _UNDONE.search(text, 0, said[-1].start()):
            return said[-1]
    return None


def _happened(reading: Reading, verb: str) -> bool:
    """Say whether the evidence's own timeline has such a change, made by somebody else."""
    stem = next((s for s in _STEMS if s in verb.lower()), verb.lower())
    return stem in reading.told.changed.lower()


def question_before_answer(reading: Reading) -> Iterator[Hit]:
    """Something asked of the user before anything is answered."""
    draft = reading.draft
    spoken = [s.at for s in verdicts_in(draft)] + [s.at for s in readiness_in(draft)]
    spoken += [
        u.start for u in draft.prose if CAUSE.search(u.text) and not u.text.rstrip().endswith("?")
    ]
    first = min(spoken, default=len(draft.words))
    for unit in draft.prose:
        match = _ASKS.search(unit.text)
        if match is None or unit.start > first or reading.is_quoted(unit, *match.span()):
            continue
        yield Hit(unit.start + match.start(), match[0], "asked back before any verdict")
        return


def raw_account_id(reading: Reading) -> Iterator[Hit]:
    """An account id in full."""
    words = reading.draft.words
    found = [(m[0], m.start()) for m in twelve_digits(words)]
    found += [("".join(m.groups()), m.start()) for m in _HYPHENED.finditer(words)]
    if not found:
        return
    proved = proved_accounts(words).keys() | reading.backing.accounts
    for digits, at in found:
        is_named = _ACCOUNT.search(words, 0, at) is not None
        if digits in proved or (is_named and other_reading(digits, words) == "nothing proves it"):
            yield Hit(at, digits, f"account …{digits[-4:]} is written out")


def secret_in_answer(reading: Reading) -> Iterator[Hit]:
    """A credential, a token or a signed URL."""
    for unit in reading.draft.units:
        masked = mask(unit.text)
        if masked != unit.text:
            at = next(
                (i for i, (a, b) in enumerate(zip(unit.text, masked, strict=False)) if a != b), 0
            )
            yield Hit(unit.start + at, "[masked]", "a credential stands in the answer")
