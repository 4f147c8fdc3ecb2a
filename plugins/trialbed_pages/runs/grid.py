"""The tasks of a run against its setups: a dense grid with the reasons for failures, and the answers themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Any
from urllib.parse import urlencode

from trialbed.attribution import loser_of
from trialbed.records import Annotation, TrialResult, failure_words
from trialbed.report.inspection import TrialProblem, problem_words, problems
from trialbed.store import StoredRun, TrialRow
from trialbed.texts import one_line
from trialbed_pages.runs.figures import QueryId, RunFigures

PAGE = 50
"""Tasks on a page of the grid."""

ANSWERS = 10
"""Tasks on a page of answers, whose trials are read completely."""

DIFFERING = "setups differ"
"""The outcome of tasks on which the setups have different values."""

LOST = {"rig": "tool", "api failed": "failed"}
"""Losers and stages of lost calls that have other words on a page."""

NOTE = 60
"""Characters of a reason in a cell."""

VERDICTS = {"Solved": "", "Unsolved": "wrong answer", "Unsure": "unsure"}
"""Verdict of a trial that lost no call -> the kind of reason why it is not right."""


@dataclass(frozen=True)
class GridFilter:
    """The choice of trials in an address, and the order of their tasks.

    Attributes:
        score: the score that is shown; empty for the leading one.
        text: in the id or the text of a task.
        tag: of the tasks.
        outcome: a key of ``OUTCOMES``.
        reason: the kind of reason why a trial is not right.
        sort: a key of ``ORDERS``.
    """

    score: str = ""
    text: str = ""
    tag: str = ""
    outcome: str = "all"
    reason: str = ""
    sort: str = "hardest first"
    page: int = 1

    def parameters(self, **changes: Any) -> str:
        """Return the query string of this choice with changes, without what every address means."""
        found = {**vars(self), **changes}
        return urlencode({name: value for name, value in found.items() if value != getattr(GridFilter, name)})


@dataclass(frozen=True)
class Cell:
    """The trials of a setup on a task.

    Attributes:
        value: the mean of the score over the repeats, None if missing in all trials.
        shown: the worst repeat, which explains the value; None without a trial.
        failures: the kinds of failures.
        kind: the kind of reason why it is not right; empty if it is right, or without a known reason.
        reason: the reason in words.
    """

    query: QueryId
    framework: str
    value: float | None
    shown: TrialRow | None
    failures: tuple[str, ...]
    kind: str
    reason: str

    @property
    def grade(self) -> str:
        """A class of the value, for its colour and its sign."""
        return grade_of(self.value)

    @property
    def note(self) -> str:
        """The reason in a few words: the judge's own if the answer is wrong, or else its kind."""
        return one_line(self.reason, NOTE) if self.reason and self.kind in VERDICTS.values() else self.kind


def grade_of(value: float | None) -> str:
    """Return the class of a score, for its colour and its sign."""
    if value is None:
        return "none"
    if value >= 1:
        return "right"
    return "wrong" if value <= 0 else "part"


OUTCOMES: Mapping[str, Callable[[Cell], bool]] = {
    "all": lambda _: True,
    "right": lambda cell: cell.grade == "right",
    "not right": lambda cell: cell.grade != "right",
    "failed": lambda cell: bool(cell.failures),
    DIFFERING: lambda _: True,
}


@dataclass(frozen=True)
class GridRow:
    """A task with its cells, one for each setup."""

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
        """Return whether the task has this id, or its text contains the other one."""
        wanted = text.strip().casefold()
        return not wanted or wanted == str(self.query).casefold() or wanted in self.text.casefold()


ORDERS: Mapping[str, Callable[[GridRow], float]] = {
    "hardest first": lambda row: round(fmean(row.values or [2.0]), 12),
    "as in the dataset": lambda _: 0.0,
}


def explain(trial: TrialRow) -> tuple[str, str]:
    """Return why a trial is not right, as a kind of reason and in words: a failure, a lost call, or the verdict."""
    if trial.failure is not None:
        return failure_words(trial.failure.kind), trial.failure.message
    calls = (call for call in trial["facts"].get("gold_calls") or () if call.get("lost"))
    lost = [(loser_of(call["lost"], call["reason"], ""), call) for call in calls]
    if lost:
        by, call = min(lost, key=lambda pair: pair[0] != "framework")
        kind = f"{LOST.get(by, by)}: {LOST.get(call['lost'], call['lost'])}"
        return kind, f"{call['gold']['api']['api_name']}: {problem_words(call['reason'])}"
    return VERDICTS.get(trial.verdict, "no verdict"), trial.reason


@dataclass(frozen=True)
class GridPage:
    """A page of tasks.

    Attributes:
        size: the number of tasks on it.
    """

    figures: RunFigures
    chosen: GridFilter
    size: int = PAGE

    @property
    def run(self) -> StoredRun:
        """The run."""
        return self.figures.run

    @property
    def score(self) -> str:
        """The score that is shown."""
        return self.chosen.score or self.figures.headline[0]

    @property
    def scores(self) -> list[str]:
        """The scores that can be chosen."""
        return self.figures.quality or [self.score]

    @property
    def every(self) -> Sequence[GridRow]:
        """The rows of all tasks, which are kept with the figures."""
        names, figures, score = self.run.config.frameworks, self.figures, self.score

        def read() -> list[GridRow]:
            return [
                GridRow(query, figures.text(query), [_cell(figures, name, query, score) for name in names])
                for query in self.run.config.query_ids
            ]

        return figures.once(("rows", score), read)

    @property
    def reasons(self) -> list[tuple[str, int]]:
        """The kinds of reasons with their numbers of cells, the most frequent first."""
        return Counter(cell.kind for row in self.every for cell in row.cells if cell.kind).most_common()

    def matches(self, cell: Cell) -> bool:
        """Return whether a cell has the chosen outcome and reason; unknown outcomes are ignored."""
        fits = OUTCOMES.get(self.chosen.outcome, OUTCOMES["all"])
        return cell.shown is not None and fits(cell) and self.chosen.reason in ("", cell.kind)

    @cached_property
    def matching(self) -> Sequence[GridRow]:
        """Return the tasks with a matching cell in the chosen order; unknown orders are ignored."""
        chosen, tags = self.chosen, self.run.config.tags
        rows = [row for row in self.every if row.contains(chosen.text)]
        if chosen.tag:
            tagged = {*tags.get(chosen.tag, ())}
            rows = [row for row in rows if row.query in tagged]
        if chosen.outcome == DIFFERING:
            rows = [row for row in rows if row.spread > 0]
        if chosen.outcome != "all" or chosen.reason:
            rows = [row for row in rows if any(map(self.matches, row.cells))]
        return sorted(rows, key=ORDERS.get(chosen.sort, ORDERS["as in the dataset"]))

    def around(self, framework: str, query: QueryId) -> tuple[Cell | None, Cell | None, int, int]:
        """Return the trials before and after one in the list of matching trials, and its place, from 1, of how many.

        The place is 0 for a trial that is not in the list, and the next one is the first then.
        """
        cells = [cell for row in self.matching for cell in row.cells if self.matches(cell)]
        places = (place for place, cell in enumerate(cells, 1) if (cell.framework, cell.query) == (framework, query))
        place = next(places, 0)
        before, after = cells[max(0, place - 2) : max(0, place - 1)], cells[place : place + 1]
        return next(iter(before), None), next(iter(after), None), place, len(cells)

    @property
    def begin(self) -> int:
        """The rows before this page."""
        return (self.chosen.page - 1) * self.size

    @property
    def rows(self) -> Sequence[GridRow]:
        """The rows of this page."""
        return self.matching[self.begin : self.begin + self.size]

    @property
    def last(self) -> int:
        """The number of the last row of this page."""
        return min(len(self.matching), self.begin + self.size)

    @cached_property
    def answers(self) -> Mapping[int, str]:
        """The final answers of the shown trials of this page, by their rows in the store."""
        shown = (cell.shown for row in self.rows for cell in row.cells)
        return self.run.answers_at([int(trial["row"]) for trial in shown if trial is not None])

    def read(self, cell: Cell) -> tuple[TrialResult, Sequence[TrialProblem], Annotation | None]:
        """Return the shown trial of a cell completely, its problems unless it is right, and a person's words on it."""
        trial = self.run.trial(cell.framework, cell.query, cell.shown.repeat if cell.shown else 0)
        found = () if cell.grade == "right" else problems(trial, self.run.tools_of(trial))
        return trial, found, self.run.annotation_of(trial.key)


def _cell(figures: RunFigures, framework: str, query: QueryId, score: str) -> Cell:
    trials = figures.cell(framework, query)
    own = [(figures.value(trial, score), trial) for trial in trials]
    values = [value for value, _ in own if value is not None]
    failures = tuple(trial["failure"] for trial in trials if trial["failure"])
    # A repeat without a value is worse than any but a wrong one.
    worst = min(own, key=lambda pair: (0.5 if pair[0] is None else pair[0], not pair[1]["failure"]), default=None)
    value, shown = fmean(values) if values else None, worst and worst[1]
    kind, reason = ("", "") if shown is None or (value is not None and value >= 1) else explain(shown)
    return Cell(query, framework, value, shown, failures, kind, reason)
