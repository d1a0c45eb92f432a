"""Which list a code belongs to."""

from enum import StrEnum


class CodeKind(StrEnum):
    """An error of a GPU, or of an NVSwitch."""

    XID = "xid"
    SXID = "sxid"
