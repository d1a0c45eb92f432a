"""How a draft says that something is not there, that it was not seen, and for how many hours."""

import re

from gpuvet.checks.answer.phrases import any_of

INSTANCE = re.compile(r"(?<![\w./-])i-[0-9a-f]{8,17}(?![\w-]|\.\w)")
_KIND = any_of(
    *("GPU", "GPUs'", "NVIDIA", "NVRM", "hardware", "Xid", "NVLink", "NVSwitch", "ECC", "PCIe"),
    *("HBM", "driver", "kernel", "memory", "node", "fatal", "critical", "further", "other", "new"),
    *("such", "real", "actual", "single", "uncorrectable", "relevant", "logged", "reported"),
    *("recorded", "signs? of", "trace of", "evidence of", "indications? of", "a", "an", "any"),
    *("GPU-related", "hardware-related", "or", "and", "/"),
)
_FAULT = r"(?:errors?|faults?|S?Xids?\b|anomal(?:y|ies)|defects?|(?:row )?remaps?)"
_TROUBLE = "(?:problems?|issues?|failures?|trouble|damage|detections? of faults?)"
_OWNER = any_of(
    *("GPU", "hardware", "NVLink", "NVSwitch", "ECC", "PCIe", "memory", "node"),
    *("GPU-related", "hardware-related"),
)
_THING = rf"(?:(?:{_KIND}\s+){{0,4}}{_FAULT}|(?:{_KIND}\s+){{0,3}}{_OWNER}\s+{_TROUBLE})"
_FIND = any_of(
    *("find", "found", "see", "seen", "log", "logged", "surface", "turn up", "return", "produce"),
    *("throw", "raise", "report", "reported", "show", "shown", "record", "recorded", "have"),
    *("contain", "hold", "any"),
)
_NO = any_of(
    *("no", "zero", "0", "not? (?:a single|one)", "without(?: any| a| a single)?"),
    *(
        r"free (?:of|from)(?: any)?",
        "(?:found|saw|see|shows?|showed|has|have|had) (?:no|none|zero|0)",
    ),
    r"never\s+(?:any|logged|reported|saw|showed|had|raised|threw)(?: an?| any| a single)?",
    rf"(?:did|does|do|has|have|had|was|were|could|is|are)\s?(?:not|n't)\s+{_FIND}"
    r"\s?(?:any|an?)?(?: sign of)?",
    "(?:logged|reported) (?:no|none|zero|0)",
    r"none of (?:the |these |its |our )?\w+ (?:logged|reported|showed|shows|had|has|recorded)"
    "(?: an?y?| a single)?",
)
_SUBJECT = any_of(
    r"\b(?:GPUs?|nodes?|hardware|cluster|fleet|instances?|machines?|hosts?|everything|all|both"
    r"|they|drivers?|logs?|(?<!file )systems?)\b",
    r"\bi-[0-9a-f]{8,17}\b",
)
_IS = any_of(
    *("is", "are", "was", "were", "looks?", "looked", "appears?", "seems?", "seemed"),
    *("remain(?:s|ed)?", "stayed", "been", "(?:came|comes?) back"),
)
_HEALTHY = any_of(
    *("healthy", "clean", "fine", "error[- ]free", "fault[- ]free", "good health", "sound"),
    *("ok(?:ay)?", "cleared", "good", "not (?:faulty|defective|broken|damaged)"),
    "a healthy (?:node|instance|GPU)",
)
_VERY = "(?:all |both |completely |perfectly |fully |entirely |otherwise |currently |still |in )*"
_SET = any_of(
    *("error[- ]free", "fault[- ]free", "(?:a )?clean bill of health", "all[- ]clear", "all green"),
    *("nothing (?:is|was|went) wrong", "has a clean (?:kernel )?log", "found nothing"),
    "nothing wrong with (?:the )?(?:GPUs?|nodes?|hardware|cluster)",
    r"nothing (?:turned up|came up|showed up|in the (?:\w+ )?logs?)",
    "nothing (?:was )?(?:found|logged|reported|out of the ordinary|suspicious|unusual)",
    "(?:the )?(?:hardware|GPUs?|nodes?|cluster) checks? out",
)


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


# Claims of absence or of health.
ABSENCES = (
    _pattern(rf"(?<![\w.,-]){_NO}\s+{_THING}"),
    _pattern(
        "\\bno (?:problems?|issues?|failures?|errors?|faults?) "
        "(?:was |were |have been |has been |got )?(?:seen|found|observed|detected|logged|reported"
        "|noticed|visible|turned up|surfaced|showed up|came up)\\b"
    ),
    _pattern(
        rf"{_SUBJECT}[^.;:?!\n]{{0,60}}?\b{_IS}\s+{_VERY}{_HEALTHY}\b(?!\s+(?:kernel|for|enough|up))"
    ),
    _pattern(rf"\b{_SET}\b"),
    _pattern(
        rf"\b{_OWNER}?\s?(?:S?Xids?|errors?|faults?)(?: events?| lines?| count| found| seen)?"
        r"(?: on \S{1,40}?)?\s*(?:[:=]|\|)\s*(?:0|none|zero|no)\b(?!\s*(?:of|/)\s*\d)"
    ),
)
# The whole cell of a table, and what stands behind an id: "i-…: healthy".
STATE = _pattern(
    r"\W*(?:healthy|clean|ok|no errors?|no xids?|error[- ]free|fine|none|0 errors?)\W*\Z"
)
NAMED_STATE = _pattern(r"i-[0-9a-f]{8,17}\W{0,3}[:\u2013\u2014-]\s*(?:healthy|clean|ok|fine)\b")
# After a claim: what takes it back.
TAKEN_BACK = _pattern(
    r"[\"'\u201d\u2019)\s]*(?:,?\s*(?:here|there|so far|alone|(?:on|in|for|by) \S+)\s)?"
    + any_of(
        r"(?:is|are|was|were|would|can|could|must|may|does|do|should|proves?|means?)\s?"
        r"(?:not|n't|nothing|never|little)\b",
        *(r"cannot\b", r"can't\b", "is (?:unknown|unproven|unsupported|no proof)"),
        *("proves? (?:nothing|little)", "means? (?:nothing|little)", "is (?:more|less) than"),
        *("(?:is|was|are|were|can be|has been) (?:ruled out|excluded)", "would (?:be|need)"),
    )
)
# Before a claim: what it is not said of.
UNSAID = _pattern(
    r"\b"
    + any_of(
        r"not (?:the same as|proof of|evidence of|to be read as|mean(?:ing)?|say(?:ing)?"
        r"|claim(?:ing)?|conclude|show|prove|establish|way of saying)",
        *("whether", "cannot", "can't", "could not", "couldn't", "does not", "doesn't", "never"),
        *("neither", "don't", "do not", "rather than", "instead of", "claim(?:ing)? (?:of|that)"),
        *("read as", "call(?:ed|ing)? (?:it|them|this)", "must not", "unable to", "impossible to"),
        "no (?:basis|way|proof|evidence) (?:to|that|for|of)",
        r"(?:ask|asked|asks|want|wanted|wants|tried|trying|like)\b[^.;]{0,40}\bconfirm",
        *("if", "unless", "until", "even if", "were there", "was there", "are there", "is there"),
        *("any proof of", "to say", "to claim", "to be sure", r"assum\w+"),
    )
    + r"\b[^.;]{0,80}\Z"
)
# P13 what manages the cluster is healthy: the name of a check.
CHECK_NAME = re.compile(r"\bP\d{1,2}\b[^.;,]{0,60}\Z")
_H = r"(?:node-?)?h(?:(?:ou)?rs?)?\b"
# Hours seen of hours asked; a window ("the last 72 hours") is none.
HOURS = _pattern(
    any_of(
        rf"\b(?P<n>\d{{1,6}})\s?(?:of|/|out of)\s?(?:the |all )?(?P<m>\d{{1,6}})\s?"
        rf"(?:measured |observable )?{_H}",
        r"\b(?:all|every one of(?: the)?|each of the|across all|in all|for all)\s+(?:of the )?"
        rf"\d{{1,6}}\s?(?:measured |consecutive )?{_H}",
        r"\b(?:every|each)(?: single| one)?(?: \w+)? hour\b|\bhour by hour\b",
        rf"\b\d{{1,6}} (?:measured|observed|live|covered) {_H}",
        rf"\b\d{{1,6}} {_H} (?:were |was |are )?(?:measured|observed|seen|covered|live)\b",
    )
)
# Hours of a run, not of a log: "68 of 72 h are covered" by its capacity.
RUN_HOURS = _pattern(
    r"\busable\b|\brun ends?\b|\bsafe start\b|\bmargin\b|\bh(?:ours)? are covered\b"
    r"|\bhistory\b"
)
PAIR = re.compile(r"(?<![\w.,:-])(\d{1,6})\s?(?:of|/)\s?(\d{1,6})(?![\w:-]|\.\d)")
MEASURED = _pattern(r"\b(?:0|zero|no) S?Xids? measured\b")
COVERAGE = _pattern(
    r"\bcoverage\b|\b(?:hours?|logs?|streams?|lines)\b[^.;]{0,30}"
    r"\b(?:seen|measured|observed|live|covered)\b"
)
# What owns up that hours are dark.
DARK = _pattern(
    any_of(
        *(r"\bnot[ _]observable", "unobservable", "un(?:known|seen|measured|verified|covered)"),
        "not (?:seen|covered|measured|shipped|read|readable|visible|available|recorded|known)",
        *(
            "could not (?:be )?(?:seen|see|read|observe)",
            "cannot be (?:seen|observed|cleared|ruled)",
        ),
        *(
            "(?:cannot|can't) (?:say|see|tell|claim|clear)",
            "silent",
            "silence",
            "went (?:dark|quiet)",
        ),
        *("dark", "blind", r"\bgaps?", r"\bholes?", "missing", "empty", "partial", r"only \d+ of"),
        *("no (?:log )?(?:lines?|stream|coverage|data)", "stopp?ed (?:logging|shipping)"),
        "in (?:the )?(?:observed|measured|visible|seen|covered) hours",
        "hours? (?:that )?(?:could be|were|was) (?:seen|observed|measured)",
        *("hours (?:for|in|over) which", "where (?:it|they|we) could (?:be seen|see)"),
    )
)
UNIVERSAL = _pattern(
    r"\b(?:all|any|every|each|both|either|none of|no node|whole|entire|fleet|cluster|everything)\b"
)
