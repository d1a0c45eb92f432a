"""The words of a judgement. Plain enums without pydantic, so that a look-up starts at once."""

from enum import StrEnum


class Verdict(StrEnum):
    """One word per node, in the order of verdict-rules §1."""

    REPLACE = "REPLACE"
    REBOOT = "REBOOT"
    UNVERIFIED = "UNVERIFIED"
    MONITOR = "MONITOR"
    LEAVE_ALONE = "LEAVE ALONE"
    NOT_OBSERVABLE = "NOT OBSERVABLE"

    @classmethod
    def _missing_(cls, value: object) -> "Verdict | None":
        """Read the underscore spelling of case files too."""
        if isinstance(value, str) and "_" in value:
            return cls(value.replace("_", " "))
        return None


class FaultClass(StrEnum):
    """What kind of thing an event speaks of."""

    HARDWARE = "hardware"
    APPLICATION = "application"
    SYMPATHETIC = "sympathetic"
    INFORMATIONAL = "informational"
    DRIVER_CONFIG = "driver_config"
    SOFTWARE_LINK = "software_link"
    QUALIFIER = "qualifier"
    UNKNOWN = "unknown"
    NONE = "none"
