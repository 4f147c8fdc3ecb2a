"""Properties of a text that need no model: its script, its language, and its end."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

LETTER = re.compile(r"[a-zA-Z]")
WORD = re.compile(r"[^\W\d_]+")

SAMPLE = 600
"""Characters by which script and language are recognised."""

FEW = 2
"""Common words by which a language is recognised."""

COMMON = {
    "en": "the and is of to in you that it for with are this have your can was not i",
    "de": "der die das und ist nicht ich sie zu den mit für auf ein eine wir haben kann im",
    "fr": "le la les et est pas je vous des une dans pour que qui sur avec ce il du",
    "es": "el la los las y es no que de en una para con por su se un lo como",
    "pt": "o os as e é não que de em uma para com por seu se um ao como você",
    "it": "il lo gli e è non che di in una per con su si un come sono della",
    "nl": "de het een en is niet ik je van dat met voor op zijn te aan wij kan er",
}
"""Language -> words that most of its texts have; for those written in Latin letters."""


def form(text: str) -> str:
    """Return ``empty``, or the script of most letters; for Latin ones with the language, where common words show it."""
    if not text.strip():
        return "empty"
    sample = text[:SAMPLE]
    script = "LATIN" if sample.isascii() and LETTER.search(sample) else _usual_script(sample)
    if not script:
        return "no letters"
    return f"latin {_language(sample)}" if script == "LATIN" else script.lower()


def is_cut(text: str) -> bool:
    """Return whether a text ends in the middle of a sentence: in a letter, or a mark after which more must come."""
    last = text.rstrip()[-1:]
    return last in (",", ";", "(", "[", "{", "-") or last.isalpha()


def _usual_script(sample: str) -> str:
    """Return the script of most letters; empty without letters."""
    letters = Counter(letter for letter in sample if letter.isalpha())
    scripts: Counter[str] = Counter()
    for letter, count in letters.items():
        scripts[_script(letter)] += count
    return scripts.most_common(1)[0][0] if scripts else ""


def _script(letter: str) -> str:
    if letter.isascii():
        return "LATIN"
    name = unicodedata.name(letter, "OTHER").split(" ", 1)[0]
    return "CJK" if name in ("CJK", "HIRAGANA", "KATAKANA") else name


def _language(sample: str) -> str:
    found = set(WORD.findall(sample.lower()))
    second, best = sorted((len(found & common), language) for language, common in _common().items())[-2:]
    return best[1] if best[0] >= FEW and best[0] > second[0] else "unclear"


@lru_cache(maxsize=1)
def _common() -> dict[str, frozenset[str]]:
    return {language: frozenset(words.split()) for language, words in COMMON.items()}
