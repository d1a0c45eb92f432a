"""Text from a journal made safe to show: secrets masked, control characters spelt out. Pure."""

import re
import unicodedata

SHOWN_CHARACTERS = 300  # contracts, untrusted text: raw text is cut here
MASK = "[secret masked]"

# One alternative a kind of secret; the forms are those their issuers document.
_SECRET = re.compile(
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b"  # AWS access key ids
    r"|\bhf_[A-Za-z0-9]{16,}"  # Hugging Face
    r"|\bgh[oprsu]_[A-Za-z0-9]{20,}|\bgithub_pat_\w{20,}"  # GitHub
    r"|\bsk-[A-Za-z0-9_-]{20,}|\bxox[abprs]-[A-Za-z0-9-]{10,}"  # model and chat services
    r"|(?i:\bBearer\s+)[A-Za-z0-9._~+/=-]{16,}"
    r"|(?i:\bX-Amz-(?:Signature|Security-Token|Credential)=)[^&\s\"'\\]+"  # signed URLs
    r"|(?i:\b(?:aws_)?secret_?access_?key\W{1,6})[A-Za-z0-9/+]{30,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
)
# What every alternative above needs; `in` on these is far quicker than the expression.
_HINTS = ("AKIA", "ASIA", "hf_", "gh", "sk-", "xox", "earer", "mz-", "ecret", "EARER", "MZ-",
          "ECRET", "PRIVATE KEY")  # fmt: skip


def secret_spans(text: str) -> list[tuple[int, int]]:
    """Return where secrets stand in a text, as start and end offsets, in order."""
    if not any(hint in text for hint in _HINTS):
        return []
    return [match.span() for match in _SECRET.finditer(text)]


def mask_secrets(text: str) -> str:
    """Return the text with every secret replaced by one fixed mark."""
    spans = secret_spans(text)
    if not spans:
        return text
    parts: list[str] = []
    last = 0
    for start, end in spans:
        parts += (text[last:start], MASK)
        last = end
    return "".join((*parts, text[last:]))


def visible(text: str, *, limit: int = SHOWN_CHARACTERS) -> str:
    """Return one line that is safe to print: masked, escaped and cut to `limit` characters."""
    shown = "".join(_visible_character(c) for c in mask_secrets(text[: limit * 4]))
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def code_span(text: str, *, limit: int = SHOWN_CHARACTERS) -> str:
    """Return untrusted text as a Markdown code span longer than any backtick run in it."""
    shown = visible(text, limit=limit)
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if shown.startswith("`") or shown.endswith("`") or not shown else ""
    return f"{fence}{pad}{shown}{pad}{fence}"


def _visible_character(character: str) -> str:
    """Spell out control, bidirectional and zero-width characters; keep all others."""
    if character.isprintable():
        return character
    if character == "\n":
        return "\\n"
    if character == "\t":
        return "\\t"
    category = unicodedata.category(character)
    if category in {"Cc", "Cf", "Zl", "Zp", "Cs", "Co", "Cn"}:
        return (
            f"\\u{ord(character):04x}" if ord(character) < 0x10000 else f"\\U{ord(character):08x}"
        )
    return " "
