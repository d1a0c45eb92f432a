"""Text from outside made fit to keep: secrets masked, control characters shown, length bounded.

Pure. Everything that a value keeps of a log, a manifest or an answer passes through here.
"""

import re

LIMIT = 300  # characters of one raw text that we keep
MASK = "[masked]"
CUT = " …[cut]"
_LOOKAHEAD = 4096  # read past the limit, so that a secret across it is still recognised

# A cheap test for all of them: without one of these, in lower case, no pattern below can match.
_HINTS = (
    *(
        "akia",
        "asia",
        "hf_",
        "npm_",
        "gh",
        "_pat_",
        "glpat-",
        "xox",
        "sk-",
        "aiza",
        "eyj",
        "bearer",
    ),
    *("basic ", "token", "secret", "passw", "pwd", "key", "auth", "sig", "polic", "credential"),
    "://",
)
_SECRETS = re.compile(
    r"""
      -----BEGIN\ [A-Z0-9 ]*PRIVATE\ KEY-----(?:.*?-----END\ [A-Z0-9 ]*PRIVATE\ KEY-----|.*)
    | (?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{12,}
    | \b(?:hf_|npm_)[A-Za-z0-9]{16,}
    | \bgh[pousr]_[A-Za-z0-9]{16,} | \bgithub_pat_\w{16,} | \bglpat-[\w-]{16,}
    | \bxox[a-z]-[\w-]{10,}
    | \bsk-[\w-]{16,}
    | \bAIza[\w-]{30,}
    | \beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?
    | (?P<scheme>(?i:\b(?:bearer|basic)\ +))[A-Za-z0-9+/._~=-]{8,}
    | (?P<query>(?i:[?&](?:x-amz-(?:signature|credential|security-token)|signature|sig
        |awsaccesskeyid|key-pair-id|policy|token|access_token)=))[^&\s"'<>]+
    | (?P<name>(?<![\w.-])(?i:(?:[\w.-]{0,80}?(?:secret|passw(?:or)?d|pwd|token|api_?key
        |access_?key|auth_?key|private_?key|license_?key|encryption_?key|credentials?
        |authorization))
        ["']?\s*[=:]\s*))
      (?P<quote>["']?)(?!\[masked\]|(?i:bearer|basic)\ )[^\s"',;&}]{4,}(?P=quote)?
    | (?P<login>://[^\s/:@]{0,64}:)[^\s/@]{1,256}(?=@)
    """,
    re.VERBOSE | re.DOTALL,
)

_CONTROLS = {
    code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0)) if code not in (9, 10, 13)
} | {9: "\\t", 10: "\\n", 13: "\\r"}
# Bidi controls and isolates, zero-width characters, line separators, tags, lone surrogates.
_HIDDEN = (
    *(0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFEFF, 0xFFA0),
    *range(0x180B, 0x1810),
    *range(0x200B, 0x2010),
    *range(0x2028, 0x202F),
    *range(0x2060, 0x2070),
    *range(0xFE00, 0xFE10),
    *range(0xFFF0, 0xFFFC),
    *range(0xD800, 0xE000),
    *range(0xE0000, 0xE0080),
)
_ESCAPES = _CONTROLS | {code: f"\\u{code:04x}" for code in _HIDDEN}


def clean(text: str, *, limit: int = LIMIT) -> str:
    """Return text with secrets masked, control, bidi and zero-width characters as escapes, and cut.

    Args:
        text: Anything; only the first few thousand characters after the limit are looked at.
        limit: Most characters kept; a mark says where more stood.
    """
    return _cut(show(mask(text[: limit + _LOOKAHEAD])), limit)


def clean_around(text: str, start: int, *, limit: int = LIMIT) -> str:
    """Return clean text like `clean`, but of a long line keep the part from `start` on.

    A driver line inside a long JSON record is what a reader wants to see, not the record's head.
    """
    if start <= 0 or len(text) <= limit:
        return clean(text, limit=limit)
    head, tail = text[:start], text[start : start + limit + _LOOKAHEAD]
    kept = limit * 2 // 3
    room = max(limit - len(tail), limit - kept)
    lead = show(mask(head))[-room:] if len(head) > room else show(mask(head))
    mark = CUT.strip() + " " if len(head) > room else ""
    return _cut(mark + lead + show(mask(tail)), limit + len(CUT))


def mask(text: str) -> str:
    """Return text with every secret of the known shapes replaced by `[masked]`."""
    lowered = text.lower()
    for hint in _HINTS:
        if hint in lowered:
            return _SECRETS.sub(_masked, text)
    return text


def show(text: str) -> str:
    r"""Return text with characters that act instead of showing written as `\x1b` or `\u202e`."""
    if text.isascii() and text.isprintable():
        return text
    return text.translate(_ESCAPES)


def _masked(match: re.Match[str]) -> str:
    kept = match["scheme"] or match["query"] or match["name"] or match["login"] or ""
    return kept + MASK


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[:limit] + CUT
