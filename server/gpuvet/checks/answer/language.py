"""Is a draft in English? The rules that read wording know no other language."""

import re

_WORD = re.compile(r"[^\W\d_]+")
# Ours: words that carry a sentence in each language, none of them an English one.
_ENGLISH_WORDS = "the of and is are was were in to on at for with no not this that by"
_OTHER_WORDS = (
    "der die das und ist sind nicht kein keine ein eine wurde den auf mit "  # German
    "le la les est et pas aucun aucune une des sur dans avec du "  # French
    "el los las es y ninguno ninguna sin del por para una hay "  # Spanish, Portuguese
    "il gli lo che non nessun nessuno della sono "  # Italian
    "het een niet geen zijn van "  # Dutch
)
_ENGLISH = frozenset(_ENGLISH_WORDS.split())
_OTHERS = frozenset(_OTHER_WORDS.split())
_FEW = 3
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_MOST_FOREIGN_LETTERS = 0.2


def is_english(draft: str) -> bool:
    """Say whether a draft's wording can be judged; terse notes of ids and codes can."""
    words = [word.lower() for word in _WORD.findall(draft)]
    letters = "".join(words)
    foreign = sum(_LATIN.match(letter) is None for letter in letters)
    if foreign > len(letters) * _MOST_FOREIGN_LETTERS:
        return False
    english = sum(word in _ENGLISH for word in words)
    others = sum(word in _OTHERS for word in words)
    return others < _FEW or others <= english
