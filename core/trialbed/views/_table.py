"""The table that every view is made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, islice, repeat

from trialbed.views._figures import UNKNOWN

NUMBER = re.compile(r"[\s\[(<~≥≤±+$-]*\d")
"""The beginning of a number, and of an interval of numbers."""

VERSION = re.compile(r"\d+\.\d+\.\d|\d{4}-\d\d-\d\d\b")
"""The beginning of a version and of a date, which are words: they are not compared by their digits."""

INTERVAL = re.compile(r"(\[[-+<>]?\d[^\[\]]{0,12}, [-+<>]?\d[^\[\]]{0,12}\])")
"""An interval, within which no line breaks."""

CHARACTER, GAP = 9, 23
"""Pixels of a character and between columns on a page."""

PAPER_CHARACTER, PAPER_GAP = 6, 10
"""The same in print."""

WORDS, LONG = 16, 30
"""The characters at which a column of words can be broken, and at which a single word of a label or in print is."""


def is_text(text: str) -> bool:
    """Return whether a cell says something in words: neither nothing nor a number."""
    return _says(text) and NUMBER.match(text) is None


def _is_text_column(texts: Sequence[str]) -> bool:
    """Return whether any cell says something in words, or all are versions or dates."""
    known = [text for text in texts if _says(text)]
    return any(map(is_text, known)) or (bool(known) and all(map(VERSION.match, known)))


def _says(text: str) -> bool:
    return text.strip(f"{UNKNOWN} ") not in ("", "none")


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

    The texts are plain: each writer escapes them as its format needs.

    Attributes:
        title: may be empty.
        columns: the headings; the first is that of the labels.
        rows: each with as many cells as there are columns after the first. None for a text that is all notes.
        notes: what readers must know beside the figures.
        pinned: how many of the first columns after the labels are repeated in each block of a folded table.
        narrow: the table that a terminal shows instead where this one is too wide; it may have one of its own.
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

    def parted(self, pixels: int, paper: int) -> Iterator[Table]:
        """Return the same in blocks to stand below each other, each with the labels and the pinned columns.

        Args:
            pixels: that a block may be estimated at on a screen; one with a single column beside the repeated ones may
                be wider.
            paper: that it may be estimated at in print, where lines break at every space.
        """
        blocks = self._places(pixels, paper)
        if len(blocks) == 1:
            return iter([self])
        # As many blocks as are needed, about equally wide.
        for share in range(99, 0, -1):
            tried = self._places(pixels * share // 100, paper * share // 100)
            if len(tried) > len(blocks):
                break
            blocks = tried
        return map(self._block, blocks)

    def _places(self, pixels: int, paper: int) -> list[list[int]]:
        """Return the columns of each block, the repeated ones among them."""
        limits = [(self._widths, pixels), (self._widths_on_paper, paper)]
        places = range(len(self._widths))
        fixed = list(places)[: 1 + self.pinned]
        blocks = [fixed]
        for place in places[len(fixed) :]:
            block = [*blocks[-1], place]
            if blocks[-1] != fixed and any(sum(widths[one] for one in block) > limit for widths, limit in limits):
                blocks.append(fixed)
            blocks[-1] = [*blocks[-1], place]
        return blocks

    def _block(self, places: Sequence[int]) -> Table:
        rows = [replace(row, cells=tuple(row.cells[place - 1] for place in places[1:])) for row in self.rows]
        return replace(self, columns=tuple(self.heads[place] for place in places), rows=rows)

    @cached_property
    def of_text(self) -> frozenset[int]:
        """The columns of words, which begin at their left edge; those of numbers end at their right one."""
        columns = enumerate(zip(*self.lines, strict=True)) if self.rows else ()
        return frozenset(place for place, texts in columns if not place or _is_text_column(texts))

    @property
    def pixels(self) -> int:
        """About how wide a page shows it, where a column of words breaks its lines and one of numbers does not."""
        return sum(self._widths)

    @cached_property
    def _widths(self) -> list[int]:
        columns = enumerate(zip(self.heads, *self.lines, strict=True)) if self.rows else ()
        words = self.of_text
        found = [_characters(texts, breaks=place in words) for place, texts in columns]
        return [GAP + CHARACTER * count for count in (*(min(count, LONG) for count in found[:1]), *found[1:])]

    @cached_property
    def _widths_on_paper(self) -> list[int]:
        columns = zip(self.heads, *self.lines, strict=True) if self.rows else ()
        longest = (max((len(word) for text in texts for word in _unbroken(text)), default=0) for texts in columns)
        return [PAPER_GAP + PAPER_CHARACTER * min(characters, LONG) for characters in longest]

    @property
    def has_long_labels(self) -> bool:
        """Whether a word of a label is so long that it may be broken."""
        return any(len(word) > LONG for row in self.rows for word in row.label.split())

    @cached_property
    def heads(self) -> tuple[str, ...]:
        """The heading of each cell of a row, the label's first; empty where there is none."""
        return tuple(islice(chain(self.columns, repeat("")), len(self.lines[0]) if self.rows else 0))

    @cached_property
    def lines(self) -> list[tuple[str, ...]]:
        """The texts of each row, the label first."""
        return [(row.label, *row.cells) for row in self.rows]


def _unbroken(text: str) -> list[str]:
    """Return the words of a text, an interval as one."""
    parts = INTERVAL.split(text)
    return [word for place, part in enumerate(parts) for word in ([part] if place % 2 else part.split())]


def _characters(texts: Iterable[str], *, breaks: bool) -> int:
    """Return the characters that the widest of a column's texts takes; where lines break, its longest word at least."""
    if not breaks:
        return max(map(len, texts))
    return max(max(min(len(text), WORDS), *map(len, text.split()), 0) for text in texts)
