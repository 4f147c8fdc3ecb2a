"""Many texts in which many values are looked for."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence
from functools import cached_property

from trialbed.evidence._carriage import read, wanted

FEW = 8
"""Texts in which a value is looked for one by one: to note where each word stands takes longer."""


class Passages:
    """Texts in an order, each read once: a value is looked for only where one of its words or days stands."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = [read(text) for text in texts]

    def mention(self, value: str, start: int = 0) -> bool:
        """Return whether the value stands in any of the texts, said or denied.

        Args:
            start: the first text that counts.
        """
        sought = wanted(value)
        if not sought.words or len(self._texts) <= FEW:
            return any(text.has(value) for text in self._texts[start:])
        rarest = min((self._of_words.get(word, ()) for word in sought.words), key=len)
        candidates = [rarest, *(self._of_days.get(day, ()) for day in sought.days)]
        return any(
            self._texts[place].has(value) for places in candidates for place in places[bisect_left(places, start) :]
        )

    @cached_property
    def _of_words(self) -> dict[Hashable, Sequence[int]]:
        return _index(text.words for text in self._texts)

    @cached_property
    def _of_days(self) -> dict[Hashable, Sequence[int]]:
        return _index(text.days for text in self._texts)


def _index(found: Iterable[Iterable[Hashable]]) -> dict[Hashable, Sequence[int]]:
    """Return each reading in the texts -> the places of those texts, ascending."""
    places: dict[Hashable, list[int]] = defaultdict(list)
    for place, items in enumerate(found):
        for item in set(items):
            places[item].append(place)
    return dict(places)
