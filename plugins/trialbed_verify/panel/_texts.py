"""Texts as values that can be compared without a model: categories, and signatures of their words.

A signature is a short vector of hashes. The share of unequal places of two is a distance between sets of words.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b
from zlib import crc32

import numpy as np

PLACES = 16
"""Hashes of a signature."""

NOTHING = bytes(2 * PLACES)
"""The signature of no words."""

RANDOM = np.random.default_rng(20)
FACTORS = RANDOM.integers(1, 1 << 31, PLACES, dtype=np.uint64) * np.uint64(2) + np.uint64(1)
OFFSETS = RANDOM.integers(0, 1 << 32, PLACES, dtype=np.uint64)

MOST_WORDS = 400
"""Words of a text that count; a difference shows in the first ones."""

WORD = re.compile(r"[^\W_]+|[^\w\s]", re.UNICODE)
WIDE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
LETTER = re.compile(r"[a-zA-Z]")
LETTERS = re.compile(r"[^\W\d_]+")

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

WORDS = {language: frozenset(words.split()) for language, words in COMMON.items()}


@lru_cache(maxsize=65536)
def code(text: str) -> int:
    """Return a number for a category, the same in every process; never 0."""
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=7).digest(), "big") + 1


def words(text: str) -> list[str]:
    """Return the words of a text in lower case; writing without spaces is split into characters."""
    found = WORD.findall(WIDE.sub(lambda match: f" {match[0]} ", text[: 12 * MOST_WORDS].lower()))
    return found[:MOST_WORDS]


def signature(tokens: Iterable[str]) -> bytes:
    """Return the signature of a set of tokens.

    Two signatures differ in about as many places as the Jaccard distance of their sets says (MinHash; A. Broder, "On
    the Resemblance and Containment of Documents", 1997).
    """
    hashed = np.fromiter({crc32(token.encode("utf-8", "surrogatepass")) for token in tokens}, dtype=np.uint64, count=-1)
    least = np.zeros(PLACES, dtype=np.uint16)
    if len(hashed):
        mixed = (hashed[:, None] * FACTORS + OFFSETS) & np.uint64(0xFFFFFFFF)
        least = (mixed.min(axis=0) >> np.uint64(8)).astype(np.uint16)
    return bytes(least.tobytes())


def form(text: str) -> str:
    """Return ``empty``, or the script of most letters; for Latin ones with the language, where common words show it."""
    sample = text[:SAMPLE]
    if not text.strip():
        return "empty"
    if not (sample.isascii() and LETTER.search(sample)):
        scripts = Counter(map(_script, filter(str.isalpha, sample)))
        if not scripts:
            return "no letters"
        script = scripts.most_common(1)[0][0]
        if script != "LATIN":
            return script.lower()
    found = set(LETTERS.findall(sample.lower()))
    (second, _), (best, language) = sorted((len(found & common), name) for name, common in WORDS.items())[-2:]
    return f"latin {language if best >= FEW and best > second else 'unclear'}"


def is_cut(text: str) -> bool:
    """Return whether a text ends in the middle of a sentence: in a letter, or a mark after which more must come."""
    last = text.rstrip()[-1:]
    return last in (",", ";", "(", "[", "{", "-") or last.isalpha()


@lru_cache(maxsize=4096)
def _script(letter: str) -> str:
    if letter.isascii():
        return "LATIN"
    name = unicodedata.name(letter, "OTHER").split(" ", 1)[0]
    return "CJK" if name in ("CJK", "HIRAGANA", "KATAKANA") else name
