"""A few of the cases behind every count of failures, so that a reader can look them up."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping
from typing import Any

Row = Mapping[str, Any]
Example = dict[str, Any]

KEPT = 3
"""Examples of each kind."""

SHOWN = 200
"""Characters of what is said in one."""


class Examples:
    """The first cases of each kind in the order of the test set, whatever the order in which they end."""

    def __init__(self) -> None:
        self._kept: dict[str, list[tuple[int, int, int, Example]]] = {}

    def add(self, kind: str, row: Row, message: str, **more: str) -> None:
        """Take a case, if it is one of the first of its kind."""
        kept = self._kept.setdefault(kind, [])
        place = (row["data_index"], row.get("trial") or 0)
        if len(kept) == KEPT and place >= kept[-1][:2]:
            return
        number = sum(other[:2] == place for other in kept)
        example = {"line": place[0], "trial": place[1], **more, "message": trimmed(message)}
        insort(kept, (*place, number, example), key=lambda entry: entry[:3])
        del kept[KEPT:]

    def as_json(self) -> dict[str, list[Example]]:
        """Kind -> its examples."""
        return {kind: [entry[3] for entry in kept] for kind, kept in sorted(self._kept.items())}


def trimmed(text: str) -> str:
    """A text on one line, cut where it is too long to be read, and without what would steer a terminal."""
    line = "".join(letter if letter.isprintable() else "?" for letter in " ".join(text.split()))
    return line if len(line) <= SHOWN else f"{line[:SHOWN]}…"
