"""Which list a code belongs to."""

from enum import StrEnum


class CodeKind(StrEnum):
    """An error of a GPU, or of an NVSwitch."""

    XID = "xid"
    SXID = "sxid"


NVLINK5_CODES = range(144, 151)  # the Xids of NVLink 5, which the decode sheet speaks of
