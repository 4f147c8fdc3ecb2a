"""The answers of frameworks to each query, with the reasons for failures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trialbed.records import Annotation, TrialResult
from trialbed.report.inspection import TrialProblem, problems
from trialbed_pages.runs.figures import QueryId
from trialbed_pages.runs.grid import Cell, GridPage

ANSWERS = 10
"""Queries per page; their trials are read completely."""


@dataclass(frozen=True)
class ShownAnswer:
    """The answer of a cell, from its first failed trial or, without failures, its first trial.

    Attributes:
        problems: the mistakes in the trial, the most important first; empty if the answer is correct.
        annotation: a person's words on it.
    """

    trial: TrialResult
    problems: Sequence[TrialProblem]
    annotation: Annotation | None

    @property
    def text(self) -> str:
        """Return the answer in words; empty without an answer."""
        answer = self.trial.answer
        return "" if answer is None else answer.final_answer


@dataclass(frozen=True)
class AnswersPage:
    """The page of answers to the queries of a grid.

    Attributes:
        cells: framework and query -> the answer; only if there is a trial.
    """

    grid: GridPage
    cells: Mapping[tuple[str, QueryId], ShownAnswer]


def answers_page(grid: GridPage) -> AnswersPage:
    """Return the answers to the queries of a page."""
    cells = {
        (cell.framework, row.query): _show(grid, cell, row.query)
        for row in grid.rows
        for cell in row.cells
        if cell.trials
    }
    return AnswersPage(grid, cells)


def _show(grid: GridPage, cell: Cell, query: QueryId) -> ShownAnswer:
    run = grid.run
    # Of several repeats the worst one, which explains the cell.
    order = {"": -1, "Unsolved": 0, "Unsure": 1, "Error": 2, "Solved": 3}
    chosen = min(cell.trials, key=lambda trial: order["" if trial.failure else trial.verdict])
    trial = run.trial(cell.framework, query, chosen.key.repeat)
    found: Sequence[TrialProblem] = ()
    if cell.grade != "right":
        found = problems(trial, run.tools_of(trial))
    return ShownAnswer(trial, found, run.annotation_of(trial.key))
