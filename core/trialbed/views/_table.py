"""The table that every view is made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import zip_longest

from trialbed.views._figures import UNKNOWN

NUMBER = re.compile(r"[\s\[(<~≥≤±+$-]*\d")
"""The beginning of a number, and of an interval of numbers."""

VERSION = re.compile(r"\d+\.\d+\.\d|\d{4}-\d\d-\d\d\b")
"""The beginning of a version and of a date. They count as words, because their digits are not compared."""

INTERVAL = re.compile(r"(\[[-+<>]?\d[^\[\]]{0,12}, [-+<>]?\d[^\[\]]{0,12}\])")
"""An interval, within which no line breaks."""


def _has_words(texts: Sequence[str]) -> bool:
    """Return whether any cell has words, or all are versions or dates."""
    known = [text for text in texts if text.strip(f"{UNKNOWN} ") not in ("", "none")]
    return any(NUMBER.match(text) is None for text in known) or (bool(known) and all(map(VERSION.match, known)))


@dataclass(frozen=True)
class TableRow:
    """A row of a table.

    Attributes:
        label: the row's name.
        cells: one text per column after the first.
        alarming: whether any text in the cells is bad news; a terminal shows it in red.
    """

    label: str
    cells: tuple[str, ...]
    alarming: bool = False


@dataclass(frozen=True)
class Table:
    """A table of text with a title above it and notes below it.

    The texts are plain, and each writer escapes them for its format.

    Attributes:
        title: may be empty.
        columns: the headings, beginning with the labels' heading.
        rows: each with as many cells as there are columns after the first. None for a text that is all notes.
        notes: necessary information about the figures.
        pinned: how many of the first columns after the labels are repeated in each block of a folded table.
        narrow: the table that a terminal shows instead if this one is too wide; it may have a narrower one too.
        legend: the meaning of rows and figures, for readers who ask.
    """

    title: str
    columns: Sequence[str] = ()
    rows: Sequence[TableRow] = ()
    notes: Sequence[str] = ()
    pinned: int = field(default=0, kw_only=True)
    narrow: Table | None = field(default=None, kw_only=True)
    legend: Sequence[str] = field(default=(), kw_only=True)

    @classmethod
    def of(
        cls,
        title: str,
        columns: Sequence[str],
        rows: Iterable[Sequence[str]],
        notes: Iterable[str] = (),
        legend: Iterable[str] = (),
    ) -> Table:
        """A table of rows that are given as texts, the label first."""
        return cls(title, columns, [TableRow(row[0], tuple(row[1:])) for row in rows], list(notes), legend=list(legend))

    def without(self, *columns: str) -> Table:
        """The same without some of its columns after the first."""
        kept = [place for place, name in enumerate(self.columns[1:]) if name not in columns]
        rows = [replace(row, cells=tuple(row.cells[place] for place in kept)) for row in self.rows]
        return replace(self, columns=(self.columns[0], *(self.columns[1:][place] for place in kept)), rows=rows)

    @cached_property
    def of_text(self) -> frozenset[int]:
        """The columns of words, which are aligned left; columns of numbers are aligned right."""
        columns = enumerate(zip(*self.lines, strict=True)) if self.rows else ()
        return frozenset(place for place, texts in columns if not place or _has_words(texts))

    @property
    def characters(self) -> int:
        """The characters of the widest texts of its columns, for estimating its width on a page."""
        return sum(max(map(len, texts)) for texts in zip_longest(self.columns, *self.lines, fillvalue=""))

    @cached_property
    def lines(self) -> list[tuple[str, ...]]:
        """The texts of each row, the label first."""
        return [(row.label, *row.cells) for row in self.rows]
