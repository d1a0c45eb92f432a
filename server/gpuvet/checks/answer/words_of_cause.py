"""How a draft names a cause and how sure it is, and the branches A to F in words."""

import re

from gpuvet.checks.answer.phrases import any_of
from gpuvet.model.cause import Branch


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


CAUSE = _pattern(
    any_of(
        *(r"\broot[- ]causes?\b", r"\bhypothesis\b", r"\bcaused\b", r"\bis the cause\b"),
        *(r"\bhardware cause\b", r"\bthe cause (?:is|was)\b", r"\bcause:", r"\bbecause of\b"),
        *(r"\b(?:is|was|were) (?:due|down) to\b", r"\bculprit\b", r"\bresponsible for\b"),
        *(r"\btriggered by\b", r"\bresulted from\b", r"\bbrought down by\b", r"\bstems? from\b"),
    )
)
NO_CAUSE = _pattern(
    r"\b(?:root[- ]cause|cause|hypothesis)\b[^.;]{0,40}\b"
    r"(?:not (?:observable|known|established|determined|found|proven|clear|identified)|unknown"
    r"|unclear|cannot|could not|undetermined|n/a|none)\b|\bno (?:single )?(?:root )?cause\b"
)
PROVEN = re.compile(r"\bProven\b|\bPROVEN\b|\b(?:is|are|was|been|label(?:led)?:?|as|a) proven\b")
ROOT = _pattern(r"\broot[- ]causes?\b(?! (?:analysis|candidate|label|column|table|section))")
SURE = _pattern(
    r"\b"
    + any_of(
        *("definite(?:ly)?", "certain(?:ly)?", "conclusive(?:ly)?", "undoubtedly", "for sure"),
        *("unquestionabl[ey]", "without (?:a |any )?doubt", "beyond (?:any )?doubt", "no doubt"),
        *("clearly", "confirmed", "confirms", "proves", "proof", "demonstrates"),
        "100 ?% (?:sure|certain)",
    )
    + r"\b"
)
DIRECT = _pattern(
    r"\b"
    + any_of(
        *("(?:was|were|is|are|been) caused by", "the cause (?:is|was)", "because of", "culprit"),
        *("(?:is|was|were) (?:due|down) to", "triggered by", "resulted from", "stems? from"),
        *("is to blame", "was to blame", "killed by", "brought down by"),
    )
    + r"\b"
)
# "Likely root cause", "root cause hypothesis", "root cause (hypothesis)": said at once.
SOFTENED = _pattern(
    r"\b(?:likely|probabl[ey]|possibl[ey]|suspected|potential|presumed|candidate|apparent|may|might"
    r"|could|perhaps)\b[^.;:]*root"
    r"|causes?\s?\(?(?:hypothesis|candidate|likely|suspected|probabl|not proven|unproven)"
)
LABELLED = _pattern(
    r"\bproven\b|\bhypothes[ie]s\b|\bnot[ _]observable\b|\blikely\b|\bprobabl[ey]\b|\bsuspect"
    r"|\bcandidate\b|\bunproven\b|\bpossibl[ey]\b"
)
UNREAD = _pattern(
    r"\b(?:not (?:assessed|checked|examined|looked at|read|investigated)|NOT_ASSESSED|unassessed"
    r"|unchecked)\b"
)
# "Root cause: C", "branch A"; and what stands before a branch by its name.
LETTER = _pattern(
    r"\b(?:root[- ]cause|leading hypothesis|hypothesis|leading branch|branch|cause)\b"
    r"[\s:(=\u2013\u2014-]{0,4}(?:is |was )?(?:branch )?\(?(?P<letter>[A-F])\b(?![\w'])"
)
NAMED = _pattern(
    r"\b(?:root[- ]cause|leading hypothesis|the cause)\b(?:\s?\([^)]{0,40}\))?\s?"
    r"(?::|is|was|-|\u2013|\u2014)\W{0,6}(?:the |a |an )?"
)
_NAMES = {
    Branch.HARDWARE: any_of(
        *("(?:GPU |node |GPU or node )?hardware", "GPU (?:fault|failure|fell)", "ECC"),
        "fallen off the bus",
    ),
    Branch.CAPACITY: any_of(
        *("capacity(?: lifecycle| block)?", "reservation", "spot", "interruption"),
        "training plan",
    ),
    Branch.STORAGE: any_of(
        *("storage", "FSx", "Lustre", "file ?systems?", "metadata(?: server)?"),
        "checkpoint writes?",
    ),
    Branch.COMMUNICATION: any_of(
        *("(?:GPU )?communication", "NCCL", "EFA", "NVLink", "NVSwitch", "network(?:ing)?"),
        *("fabric", "transport", "interconnect"),
    ),
    Branch.CHANGE: any_of(
        *("(?:cluster |control-plane )?changes?", "CloudTrail", "update", "upgrade"),
        *("replacement call", "roll-?out"),
    ),
    Branch.APPLICATION: any_of(
        *("application", "user code", "training code", "the code", "program", "software bug"),
        "user error",
    ),
}
NAME = _pattern("|".join(rf"(?P<{b.name}>\b{words}\b)" for b, words in _NAMES.items()))
_ANY = any_of(*_NAMES.values())
OUT = _pattern(r"\b(?:ruled out|rules? out|ruling out|excluded|exonerated|eliminated)\b")
CLEARED = _pattern(
    any_of(
        rf"\b(?P<name>{_ANY})\b[^.;:?!|]{{0,24}}\b"
        r"(?:is|are|was|were|has been|have been|can be)\s+(?:also |all |safely |fully )?"
        r"(?:ruled out|excluded|exonerated|eliminated)\b",
        r"(?<!to )\b(?:ruled out|rules? out|ruling out|excluded|eliminated)\s+(?:the |any |a )?"
        rf"(?P<name2>{_ANY})\b",
    )
)
