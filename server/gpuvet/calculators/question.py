"""What is being asked: the mode, and the symptom (incident-branches). First match wins."""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from gpuvet.model.cause import Symptom
from gpuvet.model.evidence import Window

ModeWord = Literal["Incident", "Preflight", "Audit"]


@dataclass(frozen=True, slots=True)
class Inputs:
    """What kinds of evidence came with the question.

    Attributes:
        has_spec: A job spec or log monitors.
        has_evidence: Anything of nodes, AWS, storage or network.
        has_run_plan: A run's start or length was given beside the question.
    """

    has_spec: bool = False
    has_evidence: bool = False
    has_run_plan: bool = False


@dataclass(frozen=True, slots=True)
class ModeChoice:
    """A mode and why it was chosen."""

    mode: ModeWord
    why: str


_FUTURE = re.compile(
    r"before (?:we|i|you) (?:submit|start|launch|run|begin)"
    r"|\b(?:want|wants|plan|planning|going|about|like) to (?:start|run|launch|submit|train)"
    r"|\bready (?:for|to)\b|\bare we ready\b|\bgood to go\b|\bpre-?flight\b"
    r"|\bwill (?:this|the|our|it|a) (?:\w+ ){0,3}(?:run|job|training)?\s*"
    r"(?:survive|last|finish|fit)"
    r"|\bcan (?:we|i) (?:start|launch|run|submit)\b|\b(?:tomorrow|tonight|next week)\b.*\brun\b"
    r"|\b\d+[ -]?(?:h|hour|day|week)s?\b[ -](?:long )?(?:run|training|job)\b",
    re.IGNORECASE,
)
_FAILED = re.compile(
    r"\bfail(?:s|ed|ing|ure)?\b|\bdie[ds]?\b|\bcrash|\bhang|\bhung\b|\bstuck\b|\bfr(?:ee|o)ze"
    r"|\bslow|\blost\b|\blose\b|\bdisappear|\bvanish|\bterminat|\bkill(?:s|ed)\b|\bthrew\b"
    r"|\bstopp?ed\b|\bdegrad|\brestart(?:s|ed|ing)\b|\btim(?:es|ed) ?out\b|\bbroken?\b"
    r"|\bwent (?:down|to)"
    r"|\bwrong with\b|\bmissing\b|\bunhealthy\b|\bwhat happened\b|\bNot ?Ready\b|\breplace\b"
    r"|\bstep time\b|\bcaus(?:e|ed|ing)\b",
    re.IGNORECASE,
)
_PERIOD = re.compile(
    r"\b(?:were|was|are|is|have|has|had|did|do|does|any)\b[^.?!]{0,80}"
    r"\b(?:errors?|xids?|faults?|detections?|events?|problems?|issues?|failures?|clean)\b"
    r"|\bcan (?:we|i|you) (?:trust|rely|be sure|say|tell|claim)\b|\btrust (?:the|these|our) logs?\b"
    r"|\bcover(?:age|ed)\b|\baudit\b|\bhow many (?:xids?|errors?)\b",
    re.IGNORECASE,
)
# "no failure named": what a person says of a period is not what they say of an event.
_NAMED_FAILURE = re.compile(
    r"\b(?:job|training|run|cluster|nodes?|workers?|ranks?|pods?)\b[^.?!]{0,60}"
    r"\b(?:died|failed|fails|crashed|hung|hangs|hanging|disappeared|went|slowed|lost|stuck"
    r"|killed)\b"
    r"|\b(?:lost|lose) (?:all|\d|two|three|four|some|our)\b|\bshould (?:we|i) replace\b"
    r"|\breplace (?:it|them|all|the)\b|\bwhat happened\b|\bslow(?:er|ed|ly|down)?\b",
    re.IGNORECASE,
)


def choose_mode(question: str | None, inputs: Inputs, *, stated: str | None = None) -> ModeChoice:
    """Return the mode of a question and why.

    Args:
        question: The user's words, or None.
        inputs: What came with them.
        stated: A mode the request names itself; it wins.
    """
    words = question or ""
    for mode in ("Incident", "Preflight", "Audit"):
        if (stated or "").casefold() == mode.casefold():
            return ModeChoice(mode, "the request names it")
    if inputs.has_spec and not inputs.has_evidence:
        return ModeChoice("Preflight", "a job spec or monitors, and no evidence of any run")
    named = _NAMED_FAILURE.search(words) is not None
    if (inputs.has_run_plan or _FUTURE.search(words)) and not named:
        return ModeChoice("Preflight", "the question is about a run that has not begun")
    if _PERIOD.search(words) and not named:
        return ModeChoice("Audit", "the question asks about a period and names no failure")
    if words and not _FAILED.search(words):
        return ModeChoice("Incident", "no other mode fits")
    return ModeChoice("Incident", "the question names a failure" if words else "no question")


_SYMPTOMS: tuple[tuple[Symptom, re.Pattern[str]], ...] = (
    (Symptom.MOUNT, re.compile(r"\bmount", re.IGNORECASE)),
    (
        Symptom.NODES_LOST,
        re.compile(
            r"\b(?:lost|lose|losing)\b[^.?!]{0,40}\b(?:nodes?|instances?|workers?|fleet)\b"
            r"|\bdisappear|\bvanish|\bterminated\b|\bkilled half\b|\bPROTECTED\b|\bprotected mode"
            r"|\bPending\b|\bcould not (?:be )?replac|\bNotReady\b|\bcondition\b"
            r"|AcceleratedHardware",
            re.IGNORECASE,
        ),
    ),
    (
        Symptom.SLOW,
        re.compile(
            r"\bslow|\bspeed\b|\bstep time\b|\bthroughput\b|\bTFLOPs?\b|\btakes longer\b"
            r"|\bhalf as fast\b|\bsamples?/s",
            re.IGNORECASE,
        ),
    ),
    (
        Symptom.HANG,
        re.compile(
            r"\bhang|\bhung\b|\bstuck\b|\bfr(?:ee|o)z|\bno progress\b|\bwatchdog", re.IGNORECASE
        ),
    ),
    (
        Symptom.START_UP,
        re.compile(
            r"\b(?:at|on|during) (?:job )?start|\bstart-?up\b|\bwon't start\b|\bdoes not start\b"
            r"|\binit(?:iali[sz]\w*)?\b|\bfails? to (?:start|launch|come up)\b|\blaunch",
            re.IGNORECASE,
        ),
    ),
    (
        Symptom.CRASH,
        re.compile(
            r"\bdie[ds]?\b|\bcrash|\bfail|\bkill|\babort|\bexit(?:ed)?\b|\berrors?\b|\bOOM\b"
            r"|\bsegfault|\bstopped\b",
            re.IGNORECASE,
        ),
    ),
)


# "Were there any Xid or GPU errors" asks for them and complains of none.
_ASKED_FOR = re.compile(
    r"\b(?:any|whether|no|zero)\b[^.?!;:]{0,60}?\b(?:errors?|failures?|crashes|faults?)\b",
    re.IGNORECASE,
)


def symptom_of(question: str | None) -> Symptom:
    """Return what a question complains of, the most specific first."""
    words = _ASKED_FOR.sub("", question or "")
    return next((s for s, pattern in _SYMPTOMS if pattern.search(words)), Symptom.UNKNOWN)


# incident-branches: how exact a time in somebody's words is taken to be.
TOLD_PRECISION_SECONDS = 900.0

_ISO = re.compile(r"\b(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(?::\d\d)?\s*(?:Z|UTC)?")
_CLOCK = re.compile(
    r"(?<![\d:.-])([01]?\d|2[0-3]):([0-5]\d)(?::[0-5]\d)?(?![\d:])\s*(?:Z\b|UTC\b)?"
)


@dataclass(frozen=True, slots=True)
class Told:
    """When it began, and ended, in the user's words; UTC is assumed."""

    start: datetime
    end: datetime | None = None


def told_times(question: str | None, window: Window) -> Told | None:
    """Return the first time, and the end of a "between … and …", that a question names.

    Args:
        question: The user's words.
        window: A clock time without a date is taken on the day that puts it inside.
    """
    words = question or ""
    dated = [datetime.fromisoformat(f"{day}T{clock}+00:00") for day, clock in _ISO.findall(words)]
    if dated:
        return Told(dated[0], dated[1] if len(dated) > 1 else None)
    times = [
        at
        for hour, minute in _CLOCK.findall(words)
        if (at := _inside(int(hour), int(minute), window)) is not None
    ]
    if not times:
        return None
    pair = len(times) > 1 and re.search(
        r"\bbetween\b|\bfrom\b.*\b(?:to|until)\b", words, re.IGNORECASE
    )
    return Told(times[0], times[1] if pair else None)


def _inside(hour: int, minute: int, window: Window) -> datetime | None:
    """Return the latest such clock time inside a window, or None."""
    day = window.end
    for _ in range(40):
        at = day.replace(hour=hour, minute=minute, second=0, microsecond=0)
        if window.start <= at <= window.end:
            return at
        day -= timedelta(days=1)
        if day < window.start - timedelta(days=1):
            return None
    return None
