"""The scores of a run's trials before and after they are scored again, counted trial by trial."""

from __future__ import annotations

import math
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from trialbed.records import Run, Score, TrialResult
from trialbed.scoring import JUDGED
from trialbed.store import ColumnTable

Pair = tuple[int | str, int]
"""A query and a repeat."""


@dataclass
class ScoreSum:
    """The values of a score over trials of a framework.

    Attributes:
        quality: whether it is one of quality in all of them, so that a trial that failed counts as 0.
    """

    quality: bool = True
    _number: int = 0
    _exact: Fraction = field(default=Fraction())
    _not_finite: float = 0.0

    def add(self, score: Score) -> None:
        """Count the score of a trial."""
        self.quality = self.quality and score.quality
        if score.value is None:
            return
        self._number += 1
        if math.isfinite(score.value):
            self._exact += Fraction(score.value)  # a mean does not depend on the order in which trials are scored
        else:
            self._not_finite += score.value

    def mean(self, failed: int, *, is_verdict: bool = False) -> float | None:
        """Return the mean; None without a value.

        Args:
            failed: trials that failed.
            is_verdict: whether it is a judge's, of which a framework has none at all where every trial failed, and
                solved nothing.
        """
        number = self._number + (failed if self.quality and (self._number or is_verdict) else 0)
        return (float(self._exact) + self._not_finite) / number if number else None


@dataclass
class FrameworkTally:
    """The trials of a framework.

    Attributes:
        failed: those that failed.
        sums: the scores of those that were answered, by name.
        judged_twice: those with a verdict of both judges. same: those of them with the same status by both.
        silent: those without a verdict of the new judge.
    """

    failed: int = 0
    sums: dict[str, ScoreSum] = field(default_factory=lambda: defaultdict(ScoreSum))
    judged_twice: int = 0
    same: int = 0
    silent: int = 0

    def add_verdicts(self, old: Score | None, new: Score) -> None:
        """Count the verdicts of both judges on an answer."""
        for score in filter(None, (old, new)):
            self.sums[score.name].add(score)
        self.silent += new.value is None
        if old is not None and old.label and new.label:
            self.judged_twice += 1
            self.same += old.label == new.label


class CommonPairs:
    """The queries and repeats that were measured for every framework; all of them where the run lacks no trial."""

    def __init__(self, run: Run, table: ColumnTable) -> None:
        self.is_part = run.status != "finished"
        self._places = table.query.values.places if self.is_part else {}  # type: ignore[attr-defined] # they are QueryIds
        self._width = max(table.repeat, default=0) + 1
        self._measured = array("I", bytes(4 * self._width * len(self._places)))
        self._frameworks = len(run.config.frameworks)
        if self.is_part:
            measured = [status != "not measured" for status in table.status.values]
            for place, status, repeat in zip(table.query.places, table.status.places, table.repeat, strict=True):
                self._measured[place * self._width + repeat] += measured[status]

    def __contains__(self, pair: Pair) -> bool:
        return not self.is_part or self._measured[self._places[pair[0]] * self._width + pair[1]] == self._frameworks

    def __len__(self) -> int:
        return sum(1 for number in self._measured if number == self._frameworks)


class RunTally:
    """The trials of a run that is scored again.

    Args:
        table: those that count.
        name: of the new judge's score; None where no judge is asked.

    Attributes:
        pairs: over which the figures are.
        frameworks: a tally of each.
        had: the scores that trials had before.
        silent: answers without a verdict, whichever their pair.
    """

    def __init__(self, run: Run, table: ColumnTable, name: str | None) -> None:
        self.pairs = CommonPairs(run, table)
        self.frameworks: Mapping[str, FrameworkTally] = {label: FrameworkTally() for label in run.config.frameworks}
        self.had: set[str] = set()
        self.silent = 0
        self._name = name
        self._first: tuple[int, str] | None = None
        for label, number in self._count_failed(table).items():
            self.frameworks[label].failed = number

    def _count_failed(self, table: ColumnTable) -> Counter[str]:
        columns = (table.framework.places, table.query.places, table.repeat, table.status.places)
        return Counter(
            table.framework.values[framework]
            for framework, query, repeat, status in zip(*columns, strict=True)
            if table.status.values[status] == "failed" and (table.query.values[query], repeat) in self.pairs
        )

    @property
    def first_silence(self) -> str:
        """The reason why the first of the answers without a verdict has none."""
        return self._first[1] if self._first else ""

    def add(self, number: int, before: TrialResult, added: Sequence[Score]) -> None:
        """Count a trial that was answered and is scored again.

        Args:
            number: its place among these.
            added: the scores that it was given.
        """
        new = next((score for score in added if score.name == self._name), None)
        if new is not None and new.value is None:
            self._note_silence(number, new)
        if before.pair not in self.pairs:
            return
        self.had.update(score.name for score in before.scores)
        own = self.frameworks[before.key.framework]
        if new is not None:
            own.add_verdicts(before.score(JUDGED), new)
        else:
            self._add_scores(own, added)

    def _add_scores(self, own: FrameworkTally, added: Iterable[Score]) -> None:
        for score in added:
            own.sums[score.name].add(score)

    def _note_silence(self, number: int, score: Score) -> None:
        self.silent += 1
        if self._first is None or number < self._first[0]:
            self._first = number, score.failure.message if score.failure else "the judge gave no value"
