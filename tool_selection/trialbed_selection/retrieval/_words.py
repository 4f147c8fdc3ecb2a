"""Words as an index has them: split, without stop words, stemmed."""

from __future__ import annotations

import re

WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|[A-Z]+|\d+")
"""A word, also within ``camelCase`` and ``snake_case``."""

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
        stems = (self._read(word) for word in WORD.findall(text))
        return [stem for stem in stems if stem]

    def _read(self, word: str) -> str:
        lower = word.casefold()
        stem = self._known.get(lower)
        if stem is None:
            stem = self._known[lower] = self._stem(lower)
        return stem
