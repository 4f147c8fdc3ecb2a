"""The queries of a run against its frameworks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from trialbed.store import TrialColumns
from trialbed_pages.runs.figures import QueryId, RunFigures

PAGE = 50
"""Queries on a page."""

GRID_SORTS = ("dataset", "worst", "best", "differing")
SHOWN = ("all", "not all right", "differing", "failed")


@dataclass(frozen=True)
class GridFilter:
    """Which queries are shown, and in which order.

    Attributes:
        text: in the id or the task of a query.
        show: one of ``SHOWN``.
        sort: one of ``GRID_SORTS``.
    """

    text: str = ""
    show: str = "all"
    sort: str = "dataset"
    page: int = 1


@dataclass(frozen=True)
class Cell:
    """The trials of a framework on a query.

    Attributes:
        value: the mean of the score over the repeats, None where no trial has it.
        failures: the kinds of those that failed.
    """

    framework: str
    value: float | None
    trials: Sequence[TrialColumns]
    failures: tuple[str, ...]

    @property
    def grade(self) -> str:
        """A class of the value, for its colour and its sign."""
        if self.value is None:
            return "none"
        if self.value >= 1:
            return "right"
        return "wrong" if self.value <= 0 else "part"


def grid_page(figures: RunFigures, score: str, chosen: GridFilter) -> dict[str, Any]:
    """What the page of queries shows."""
    names = figures.run.config.frameworks
    rows = figures.once(("grid", score), lambda: _rows(figures, score))
    keep = _KEEP.get(chosen.show, _KEEP["all"])
    found = [row for row in rows if keep(row[1]) and _fits(figures, row[0], chosen.text)]
    key = _ORDER.get(chosen.sort)
    if key is not None:
        found.sort(key=lambda row: key(row[1]))
    begin = (chosen.page - 1) * PAGE
    return {
        "run": figures.run,
        "score": score,
        "scores": figures.quality or [score],
        "frameworks": names,
        "rows": [
            {"query": query, "text": figures.text(query), "cells": cells} for query, cells in found[begin:][:PAGE]
        ],
        "found": len(found),
        "total": len(rows),
        "chosen": chosen,
        "first": begin + 1 if found[begin:] else 0,
        "last": min(len(found), begin + PAGE),
        "more": len(found) > begin + PAGE,
        "sorts": GRID_SORTS,
        "shown": SHOWN,
    }


def _rows(figures: RunFigures, score: str) -> list[tuple[QueryId, list[Cell]]]:
    config = figures.run.config
    return [(query, [_cell(figures, name, query, score) for name in config.frameworks]) for query in config.query_ids]


def _cell(figures: RunFigures, framework: str, query: QueryId, score: str) -> Cell:
    trials = figures.cells.get((framework, query), ())
    values = [value for trial in trials if (value := figures.value(trial, score)) is not None]
    failures = tuple(trial.failure for trial in trials if trial.failure)
    return Cell(framework, fmean(values) if values else None, trials, failures)


def _fits(figures: RunFigures, query: QueryId, text: str) -> bool:
    wanted = text.strip().casefold()
    return not wanted or wanted == str(query).casefold() or wanted in figures.text(query).casefold()


def _known(cells: Sequence[Cell]) -> list[float]:
    return [cell.value for cell in cells if cell.value is not None]


def _spread(cells: Sequence[Cell]) -> float:
    values = _known(cells)
    return max(values) - min(values) if values else 0.0


_KEEP: Mapping[str, Callable[[Sequence[Cell]], bool]] = {
    "all": bool,
    "not all right": lambda cells: any(cell.value is None or cell.value < 1 for cell in cells),
    "differing": lambda cells: _spread(cells) > 0,
    "failed": lambda cells: any(cell.failures for cell in cells),
}
_ORDER: Mapping[str, Callable[[Sequence[Cell]], float]] = {
    "worst": lambda cells: fmean(_known(cells) or [2.0]),
    "best": lambda cells: -fmean(_known(cells) or [-1.0]),
    "differing": lambda cells: -_spread(cells),
}
