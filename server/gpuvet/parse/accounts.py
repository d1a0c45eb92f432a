"""Account numbers in a text: which runs of 12 digits some text proves to be one. Pure.

Twelve digits alone prove nothing: most such runs are date stamps, decimals or counters.
"""

import re
from collections.abc import Iterator
from datetime import datetime

_LONG = re.compile(r"\d{12}")
_TWELVE = re.compile(r"(?<!\d)\d{12}(?!\d)")
# Ways in which a text names an account, the digits as group 1, and the proof that is. Each begins
# with plain characters, which the expression engine finds fast. JSON may be nested in JSON text,
# so quotes may carry backslashes.
_PROOFS = (
    (re.compile(r'arn:aws[a-z-]*:[^:\s"\\]*:[^:\s"\\]*:(\d{12})(?!\d)'), "5th field of an ARN"),
    (re.compile(r'\{(?:\s|\\+n)*\\*"(\d{12})\\*"\s*:'), "key of a result"),
    (re.compile(r'\},(?:\s|\\+n)*\\*"(\d{12})\\*"\s*:'), "key of a result"),
    (re.compile(r'ccount_?[iI][dD]\\*"\s*:\s*\\*"(\d{12})(?!\d)'), "an account id field"),
    (re.compile(r'wner_?[iI]d\\*"\s*:\s*\\*"(\d{12})(?!\d)'), "an owner id field"),
    (re.compile(r"ccount (\d{12})(?!\d)"), "named as an account"),
)


def proved_accounts(*texts: str) -> dict[str, str]:
    """Return the runs of 12 digits that some text proves to be accounts, each with its proof."""
    proved: dict[str, str] = {}
    for text in texts:
        for pattern, why in _PROOFS:
            for match in pattern.finditer(text):
                proved.setdefault(match[1], why)
    return proved


def twelve_digits(text: str) -> Iterator[re.Match[str]]:
    """Yield the runs of exactly 12 digits."""
    return _TWELVE.finditer(text) if _LONG.search(text) else iter(())


def without_accounts(text: str) -> str:
    """Return a text of ours with every proved account cut to its last four digits."""
    if not _LONG.search(text):
        return text
    for account in proved_accounts(text):
        text = re.sub(rf"(?<!\d){account}(?!\d)", f"…{account[-4:]}", text)
    return text


def other_reading(digits: str, text: str) -> str:
    """Return what 12 digits of a text are, where nothing proves them an account."""
    at = text.find(digits)
    before = text[max(0, at - 120) : at]
    if re.search(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}\Z", before):
        return "the last block of a UUID"
    if _is_date_stamp(digits):
        in_group = re.search(r"/aws/[^\s\"'`]*\Z", before)
        return "a date stamp in a log group name" if in_group else "a date stamp"
    if before.endswith(".") and before[-2:-1].isdigit():
        return "decimals of a number"
    return "nothing proves it"


def _is_date_stamp(digits: str) -> bool:
    try:
        return 2000 <= datetime.strptime(f"{digits}+0000", "%Y%m%d%H%M%z").year < 2100
    except ValueError:
        return False
