"""How a draft names a cause, and the branches A to F in words."""

import re

from gpuvet.model.cause import Branch

CAUSE = re.compile(
    r"\broot[- ]causes?\b|\bleading hypothesis\b|\bhypothesis\b|\bcaused\b|\bis the cause\b|\bhardware cause\b|\bthe cause (?:is|was)\b|\b(?:is|was|were) (?:due|down) to\b"
    r"|\bbecause of\b|\bculprit\b|\bresponsible for\b|\bcause:|\btriggered by\b|\bresulted from\b|\bbrought down by\b|\bstems? from\b",
    re.IGNORECASE,
)
NO_CAUSE = re.compile(
    r"\b(?:root[- ]cause|cause|hypothesis)\b[^.;]{0,40}\b(?:not (?:observable|known|established|determined|found|proven|clear|identified)|unknown"
    r"|unclear|cannot|could not|undetermined|n/a|none)\b|\bno (?:single )?(?:root )?cause\b",
    re.IGNORECASE,
)
NAMES = {
    Branch.HARDWARE: r"(?:GPU |node |GPU or node )?hardware|GPU (?:fault|failure|fell)|ECC|fallen off the bus",
    Branch.CAPACITY: r"capacity(?: lifecycle| block)?|reservation|spot|interruption|training plan",
    Branch.STORAGE: r"storage|FSx|Lustre|file ?systems?|metadata(?: server)?|checkpoint writes?",
    Branch.COMMUNICATION: r"(?:GPU )?communication|NCCL|EFA|NVLink|NVSwitch|network(?:ing)?|fabric|transport|interconnect",
    Branch.CHANGE: r"(?:cluster |control-plane )?changes?|CloudTrail|update|upgrade|replacement call|roll-?out",
    Branch.APPLICATION: r"application|user code|training code|the code|program|software bug|user error",
}
