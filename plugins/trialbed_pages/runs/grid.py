"""The queries of a run against its frameworks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean

from trialbed.store import StoredRun, TrialRow
from trialbed_pages.runs.figures import QueryId, RunFigures

PAGE = 50
"""Queries on a page."""


@dataclass(frozen=True)
class GridFilter:
    """The choice of queries, and their order.

    Attributes:
        text: in the id or the task of a query.
        show: a key of ``GRID_FILTERS``.
        sort: a key of ``GRID_ORDERS``.
        size: queries on a page.
    """

    text: str = ""
    show: str = "all"
    sort: str = "dataset"
    page: int = 1
    size: int = PAGE

    @property
    def is_all(self) -> bool:
        """Return whether all queries are shown in their own order, which makes it enough to read one page's queries."""
        return not self.text.strip() and self.show == "all" and self.sort == "dataset"


@dataclass(frozen=True)
class Cell:
    """The trials of a framework on a query.

    Attributes:
        value: the mean of the score over the repeats, None if missing in all trials.
        failures: the kinds of failures.
    """

    framework: str
    value: float | None
    trials: Sequence[TrialRow]
    failures: tuple[str, ...]

    @property
    def grade(self) -> str:
        """A class of the value, for its colour and its sign."""
        return grade_of(self.value)


def grade_of(value: float | None) -> str:
    """Return the class of a score, for its colour and its sign."""
    if value is None:
        return "none"
    if value >= 1:
        return "right"
    return "wrong" if value <= 0 else "part"


@dataclass(frozen=True)
class GridRow:
    """A query with its cells, one for each framework."""

    query: QueryId
    text: str
    cells: Sequence[Cell]

    @property
    def values(self) -> list[float]:
        """The values that are known."""
        return [cell.value for cell in self.cells if cell.value is not None]

    @property
    def spread(self) -> float:
        """The difference of the highest and the lowest value."""
        return max(self.values) - min(self.values) if self.values else 0.0

    def contains(self, text: str) -> bool:
        """Return whether the query has this id, or its task contains the text."""
        wanted = text.strip().casefold()
        return not wanted or wanted == str(self.query).casefold() or wanted in self.text.casefold()


GRID_FILTERS: Mapping[str, Callable[[GridRow], bool]] = {
    "all": lambda row: bool(row.cells),
    "not all right": lambda row: any(cell.value is None or cell.value < 1 for cell in row.cells),
    "differing": lambda row: row.spread > 0,
    "failed": lambda row: any(cell.failures for cell in row.cells),
}
GRID_ORDERS: Mapping[str, Callable[[GridRow], float]] = {
    "dataset": lambda _: 0.0,
    "worst": lambda row: fmean(row.values or [2.0]),
    "best": lambda row: -fmean(row.values or [-1.0]),
    "differing": lambda row: -row.spread,
}


@dataclass(frozen=True)
class GridPage:
    """The page of tasks."""

    figures: RunFigures
    score: str
    chosen: GridFilter

    @property
    def run(self) -> StoredRun:
        """The run."""
        return self.figures.run

    @property
    def scores(self) -> list[str]:
        """The scores that can be chosen."""
        return self.figures.quality or [self.score]

    @cached_property
    def matching(self) -> Sequence[QueryId]:
        """Return the matching queries in the chosen order; unknown choices are ignored."""
        every = self.run.config.query_ids
        if self.chosen.is_all:
            return every
        fits = GRID_FILTERS.get(self.chosen.show, GRID_FILTERS["all"])
        order = GRID_ORDERS.get(self.chosen.sort, GRID_ORDERS["dataset"])
        rows = (row for row in map(self._row, every) if fits(row) and row.contains(self.chosen.text))
        return [row.query for row in sorted(rows, key=order)]

    @property
    def begin(self) -> int:
        """The rows before this page."""
        return (self.chosen.page - 1) * self.chosen.size

    @property
    def rows(self) -> Sequence[GridRow]:
        """The rows of this page; each is kept with the figures once it was looked at."""
        return list(map(self._row, self.matching[self.begin : self.begin + self.chosen.size]))

    @property
    def last(self) -> int:
        """The number of the last row of this page."""
        return min(len(self.matching), self.begin + self.chosen.size)

    def _row(self, query: QueryId) -> GridRow:
        def read() -> GridRow:
            cells = [_cell(self.figures, name, query, self.score) for name in self.run.config.frameworks]
            return GridRow(query, self.figures.text(query), cells)

        return self.figures.once(("row", self.score, query), read)


def _cell(figures: RunFigures, framework: str, query: QueryId, score: str) -> Cell:
    trials = figures.cell(framework, query)
    values = [value for trial in trials if (value := figures.value(trial, score)) is not None]
    failures = tuple(trial["failure"] for trial in trials if trial["failure"])
    return Cell(framework, fmean(values) if values else None, trials, failures)
