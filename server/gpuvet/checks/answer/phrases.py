"""How English says that it does not say something: negation, condition, hedge, question. Pure."""

import re

# Before a claim, in its clause: what takes it back.
_DENIES = re.compile(
    r"\b(?:not|never|cannot|can't|couldn't|won't|wouldn't|don't|doesn't|didn't|isn't|aren't|wasn't"
    r"|weren't|hasn't|haven't|hadn't|without|neither|nor|nothing|nobody|none|no|unable|refuse[sd]?"
    r"|rather than|instead of|far from|hardly|unproven|unlikely|fail(?:s|ed)? to)\b",
    re.IGNORECASE,
)
_SUPPOSES = re.compile(
    r"\b(?:if|unless|until|when(?:ever)?|once|should|would|could|may|might|whether|in case|provided"
    r"|assuming|suppose|before|after|as soon as|till|only then|must|need(?:s|ed)? to|ought|shall"
    r"|will|to be|so that|let)\b",
    re.IGNORECASE,
)
_HEDGES = re.compile(
    r"\b(?:likely|probabl[ey]|possibl[ey]|plausibl[ey]|suspect(?:ed|s)?|may|might|could|appears?"
    r"|seems?|perhaps|candidate|hypothes[ie]s|hypothetical|suggests?|consistent with|points? to"
    r"|presumabl[ey]|apparent(?:ly)?|potential(?:ly)?|tentative(?:ly)?|not proven|unproven"
    r"|unconfirmed|working theory|best guess|assum\w+|believe)\b",
    re.IGNORECASE,
)
_ABOUT = re.compile(
    r"(?:\b(?:about|around|roughly|approximately|approx\.?|nearly|almost|some|circa|over|more than"
    r"|under|less than|close to|just (?:over|under|after|before)|shortly (?:after|before)|up to"
    r"|at least|at most|up from|by)\s+(?:the\s)?|[~≈><≥≤]\s?)\Z",
    re.IGNORECASE,
)
_BOUNDARY = re.compile(
    r"[;:\u2014]|\s[-\u2013]\s|,?\s\b(?:but|yet|however|although|though|while)\b|\bso\b|, and\b"
)


_FAR = 300  # characters in which a clause is looked at


def any_of(*alternatives: str) -> str:
    """Return a pattern that matches any of these; long ones read better one a line."""
    return f"(?:{'|'.join(alternatives)})"


def clause_before(text: str, at: int) -> str:
    """Return what stands before a place in its clause, at most a few hundred characters."""
    begin = max(0, at - _FAR)
    for match in _BOUNDARY.finditer(text, begin, at):
        begin = match.end()
    return text[begin:at]


def just_before(text: str, at: int) -> str:
    """Return the few hundred characters before a place, for a pattern that ends there."""
    return text[max(0, at - _FAR) : at]


def clause_around(text: str, start: int, end: int) -> str:
    """Return the clause that holds a phrase."""
    after = _BOUNDARY.search(text, end)
    before = clause_before(text, start)
    return before + text[start : after.start() if after else len(text)]


def is_denied(text: str, at: int) -> bool:
    """Say whether the clause takes back what follows: not, never, cannot."""
    return _DENIES.search(clause_before(text, at)) is not None


def is_supposed(text: str, at: int) -> bool:
    """Say whether what follows is only supposed, asked for or still to come."""
    return _SUPPOSES.search(clause_before(text, at)) is not None


def is_hedged(clause: str) -> bool:
    """Say whether a clause says likely, may, suspected or the like."""
    return _HEDGES.search(clause) is not None


def is_about(text: str, at: int) -> bool:
    """Say whether a number or time that follows is rounded by its author: about, over, ~."""
    return _ABOUT.search(text, 0, at) is not None
