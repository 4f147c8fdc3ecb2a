"""A query as an index reads it: whole, and split into its sentences."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from trialbed_selection.retrieval import MAX_SENTENCES, SENTENCE_END, Words

MAX_CHARACTERS = 20_000
"""Characters of a query that are read; a published one has fewer than 1,000."""

GRAM = 4
"""Letters of a part of a word."""


class QueryWords(NamedTuple):
    """The words of a query, each once.

    Attributes:
        whole: those of all of it.
        sentences: those of each sentence that has any.
    """

    whole: list[str]
    sentences: list[list[str]]

    @classmethod
    def of(cls, text: str, words: Words) -> QueryWords:
        """Read a query's text."""
        sentences = [_once(words(part)) for part in SENTENCE_END.split(text[:MAX_CHARACTERS], MAX_SENTENCES - 1)]
        whole = _once(word for sentence in sentences for word in sentence)
        return cls(whole, [sentence for sentence in sentences if sentence])


def grams(words: Sequence[str]) -> list[str]:
    """The parts of four letters of words, whose ends count as a letter each."""
    ended = (f"^{word}$" for word in words)
    return [word[place : place + GRAM] for word in ended for place in range(max(1, len(word) - GRAM + 1))]


def _once(words: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(words))
