"""Words as an index has them: split, without stop words, stemmed."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from trialbed.texts import normalize

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+")
"""A word, also within ``camelCase`` and ``snake_case``."""

SENTENCE_END = re.compile(r"(?<=[.?!])\s+")

MAX_SENTENCES = 16
"""Sentences of a query that are ranked by on their own."""

UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]{3,}"
)
"""Letters of languages that write no spaces, or few, between words: longer than most words are."""

MODALS = frozenset(("also", "could", "let", "must", "please", "shall", "would"))
"""English words of requests that the list of stop words lacks: those that mean the same in every request."""


class Words:
    """Reads texts. Not for several threads at once, as a stemmer is not."""

    def __init__(self) -> None:
        from bm25s.stopwords import STOPWORDS_EN_PLUS  # type: ignore[import-untyped]  # no type information
        from Stemmer import Stemmer

        self._stem = Stemmer("english").stemWord
        self._known: dict[str, str] = dict.fromkeys(MODALS.union(STOPWORDS_EN_PLUS), "")

    def __call__(self, text: str) -> list[str]:
        """The stems of a text's words, in order; stop words are left out."""
        stems = (self._read(word) for word in _words(text))
        return [stem for stem in stems if stem]

    def _read(self, word: str) -> str:
        lower = word.casefold()
        stem = self._known.get(lower)
        if stem is None:
            stem = self._known[lower] = self._stem(lower)
        return stem


def _words(text: str) -> Iterator[str]:
    if text.isascii():
        yield from WORD.findall(text)
        return
    for word in WORD.findall(_plain(text)):
        if UNSPACED.fullmatch(word):
            # Pairs of letters stand for words there, as in search engines.
            yield from (word[place : place + 2] for place in range(len(word) - 1))
        else:
            yield word


def _plain(text: str) -> str:
    """The text without accents, which are often left out, and with one form of each letter."""
    parts = normalize("NFKD", text)
    return normalize("NFC", "".join(part for part in parts if not unicodedata.combining(part)))
