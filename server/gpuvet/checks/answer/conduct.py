"""ANS7: nothing proposed is told as done, nothing is asked before the answer, nothing leaks."""

import re
from collections.abc import Iterator

from gpuvet.checks.answer.phrases import any_of, just_before
from gpuvet.checks.answer.rule import Hit, Reading
from gpuvet.checks.answer.spoken import readiness_in, verdicts_in
from gpuvet.checks.answer.words_of_cause import CAUSE
from gpuvet.parse.accounts import other_reading, proved_accounts, twelve_digits
from gpuvet.parse.commands import Effect, parse_command
from gpuvet.parse.draft import Unit
from gpuvet.parse.untrusted import mask

_PAST = any_of(
    r"re-?(?:booted|started|placed|queued|launched|submitted)",
    *(
        "drained",
        "cordoned",
        "uncordoned",
        "evicted",
        "terminated",
        "deleted",
        "killed",
        "isolated",
    ),
    *("cancell?ed", "power[- ]cycled", "repaired", "rolled back", "quarantined", "deregistered"),
    *("detached", r"scaled(?: up| down)?", "resized", "patched", "reset", "recovered"),
)
# Also said of harmless things: "I set the window", "I opened the log". They need an object.
_WIDE = any_of(
    *("set", r"turned (?:on|off)", "enabled", "disabled", "changed", "updated", "upgraded", "put"),
    *("modified", "applied", "attached", "created", "opened", "filed", "raised", "requested"),
    *("submitted", "extended", "increased", "removed", "stopped", "started", "launched", "resumed"),
    *(
        "fixed",
        "added",
        "moved",
        "issued",
        "sent",
        "triggered",
        "initiated",
        "kicked off",
        "tagged",
    ),
    *("scheduled", "executed", "called", "invoked", "purchased", "bought", "released"),
)
_OBJECT = any_of(
    *("nodes?", "instances?", "cluster", "job", "reservation", "capacity block", "training plan"),
    *("file system", "FSx", "NodeRecovery", "node recovery", "automatic recovery", "drivers?"),
    *("security group", "outbound rule", r"rules? of sg-\w+", r"support (?:case|ticket)", "ticket"),
    *("GPUs?", "daemonset", "fabric manager", "partition", "replacement", "reboot", "restart"),
    *("drain", "throughput", "IOPS", "AMI", "pods?", "deep health checks?", "alarm", "extension"),
    *("EventBridge rule", "service", "UpdateCluster", "UpdateFileSystem", r"Batch\w+ClusterNodes"),
    *(r"\w+ API call", r"(?:i|fs|cr)-[0-9a-f]{8,17}", "kubectl", "scontrol", "sbatch", "scancel"),
)
_I = any_of(
    *(r"\bI", r"\bwe", r"\bI['\u2019]ve", r"\bI have", r"\bwe['\u2019]ve", r"\bwe have"),
    *(r"\bgpuvet(?: has)?", r"\bthe (?:agent|assistant|tool)(?: has)?"),
)
_ADVERB = (
    r"(?:\s+(?:have|has|had|also|already|just|now|then|therefore|successfully|immediately|safely"
    r"|since|so|(?:gone|went) (?:ahead|on) and))*"
)
_NOW = r"(?:now |currently |already |just |successfully |safely |since |also )"
_ING = any_of(
    *("rebooting", "restarting", "replacing", "draining", "cordoning", "terminating"),
    *("requeu(?:e)?ing", "evicting", "resubmitting", "deleting"),
)
_ASKED = any_of("by me", "by us", "at my request", "for you", "on your behalf", "as you asked")
_GAP = r"[^.;\n]{0,50}?"


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


# Told by whoever answers: I rebooted, we have set NodeRecovery, is now being replaced.
_DONE = (
    _pattern(rf"{_I}{_ADVERB}\s+(?P<verb>{_PAST})\b"),
    _pattern(rf"{_I}{_ADVERB}\s+(?P<verb>{_WIDE})\b{_GAP}\b{_OBJECT}\b"),
    _pattern(rf"{_I}{_ADVERB}\s+(?P<verb>took)\b{_GAP}\b(?:out of (?:service|rotation)|offline)\b"),
    _pattern(rf"\b(?:I'm|I am|I\u2019m|we're|we are)\s+{_NOW}*(?P<verb>{_ING})\b"),
    _pattern(rf"\b(?:is|are) {_NOW}+being (?P<verb>{_PAST})\b"),
    _pattern(rf"\b(?:is|are|was|were) (?P<verb>{_PAST}|{_WIDE})\b{_GAP}\b{_ASKED}\b"),
    _pattern(rf"\b{_OBJECT} (?:was|were) {_NOW}+(?P<verb>{_PAST})\b"),
    re.compile(
        r"(?:\A|[.;:!,]\s+|\bdone[:,.]?\s+)(?:[Dd]one[,:.]?\s*)?(?:and )?"
        r"(?P<verb>(?i:rebooted|restarted|replaced|drained|cordoned|terminated|requeued))\s+"
        r"(?:the |node |both |all |i-)"
    ),
)
# Told without saying by whom: right only of what the evidence's own timeline has.
_PASSIVE = _pattern(
    rf"\b(?:{_OBJECT}|it|they|both|all(?: \d+)?(?: of them)?)(?:\s+\S{{1,30}}){{0,4}}?\s+"
    rf"(?:has|have)\s+{_NOW}*been\s+{_NOW}*(?P<verb>{_PAST}|{_WIDE})\b"
)
_STEP = any_of(
    *("reboot", "restart", "replacement", "drain", "requeue", "termination", "rollback", "resize"),
    *("extension", r"support (?:case|ticket)", "ticket"),
)
_UNDERWAY = _pattern(
    rf"\b(?P<verb>{_STEP})\b(?:\s+(?:of|for|request|call)\b[^.;:]{{0,40}}?)?\s+"
    rf"(?:is|was|has been|are|were)\s+{_NOW}*"
    r"(?:requested|initiated|triggered|submitted|issued|started|under ?way|in progress|running"
    r"|opened|filed|raised|scheduled|completed?|done|executed|successful|sent)\b"
    r"|\b(?P<verb2>reboot|restart|replacement|drain)\s*[:\u2013\u2014-]\s*"
    r"(?:done|completed?|executed|initiated|requested|in progress)\b"
    r"|\b(?P<verb3>REBOOT|REPLACE|DRAIN)\W{0,6}(?:done|completed|executed)\b"
)
_RAN = re.compile(
    r"\b(?:I|we|I've|we've|I have|we have|has been|have been|was|already)\s+"
    r"(?:just |now |already |then )*(?:ran|run|executed|issued|called|invoked|submitted|applied)\b"
    r"|\b(?:Ran|Executed|Issued)\b"
)
_PROGRAM = re.compile(
    r"\b(?:aws|kubectl|scontrol|scancel|sbatch|systemctl|nvidia-smi|pcluster|hyp|eksctl|helm|sudo) "
)
# "I requested the streams of every node": what was asked for is a reading.
_HARMLESS = _pattern(
    r"\b(?:logs?|streams?|lines|metrics?|list|history|events?|window|table|status|names?|ids?|text"
    r"|quer(?:y|ies)|reports?|counts?|coverage|readings?|output|details|description|account|hours?"
    r"|search(?:es)?|verdicts?|labels?|placeholders?|words?)\b"
)
_OF_HARMLESS = _pattern(
    rf"\s+(?:the |this |that |any |its |every |each )?(?:\w+ )?{_HARMLESS.pattern}"
)
# Before it: what was not done, or is still to do, or was done by somebody else.
_UNDONE = _pattern(
    r"(?:\b(?:not|never|nothing|no|nobody|none|once|after|if|unless|until|till|when|before|whether"
    r"|should|must|needs? to|to be|would|could|can|may|might|as soon as|without|assuming|in case"
    r"|had i|were i|recommend(?:ed)?|suggest(?:ed)?|propos(?:e|ed|es|ing)|advise|either|you"
    r"|ask(?:ed)? (?:to|that|for))\b|n't\b)[^.;]*\Z"
)
_STEMS = (
    *("reboot", "restart", "replac", "terminat", "delet", "stop", "start", "updat", "creat"),
    *("launch", "drain", "upgrad", "end"),
)
_ASKS = _pattern(
    any_of(
        r"\b(?:could|can|would|will) you (?:please |kindly |also )?(?:share|provide|tell|confirm"
        r"|specify|give|send|clarify|let|paste|check|run|describe|point|help|upload|attach)\b",
        r"\bplease (?:share|provide|confirm|specify|tell|clarify|let me know|send|paste|supply"
        r"|upload|attach|give|choose|select|advise)\b",
        r"\b(?:which|what|whose) (?:cluster|nodes?|of the|window|region|time|time ?range|period"
        r"|account|job|instance|environment|orchestrator|profile|log group|date)\b[^.!?]{0,120}\?",
        r"\bwhat(?:'s| is| are) (?:your|the (?:name|id|arn|time|region|cluster|window|account|job"
        r"|instance|node))\b[^.!?]{0,100}\?",
        r"\b(?:do|did) you (?:want|have|know|mean|see|use)\b[^.!?]{0,160}\?",
        r"\bwould you like\b|\bshall i\b|\bshould i\b[^.!?]{0,120}\?",
        r"\bI(?:'ll| will)? (?:would )?need (?:more|to know|you to|some more|a few|the following"
        r"|additional)\b",
        r"\bI need (?:the|your|a|an)\b[^.!?]{0,60}\b(?:to (?:continue|answer|proceed|go on|start"
        r"|help)|before|first)\b",
        r"\blet me know (?:which|what|if|whether|the|when)\b",
        r"\bbefore I (?:can )?(?:answer|start|proceed|decide|begin|go on|investigate|look)\b",
        r"\bwhen did (?:this|it|the)\b[^.!?]{0,100}\?",
        r"\bto (?:answer|help|investigate|proceed)[^.!?]{0,40}\bI need\b",
    )
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
            if _HARMLESS.search(match[0]) or _OF_HARMLESS.match(text, match.end()):
                continue
            if reading.is_quoted(unit, *match.span()):
                continue
            if not _UNDONE.search(just_before(text, match.start())):
                return match
    for pattern in (_PASSIVE, _UNDERWAY):
        for match in pattern.finditer(text):
            verb = next(v for k, v in match.groupdict().items() if k.startswith("verb") and v)
            if _UNDONE.search(just_before(text, match.start())) or reading.is_quoted(
                unit, *match.span()
            ):
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
        if said and not _UNDONE.search(just_before(text, said[-1].start())):
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
        is_named = _ACCOUNT.search(just_before(words, at)) is not None
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
