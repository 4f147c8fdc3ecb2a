"""The figures of a run, read from columns and kept until the run changes, so that pages of large runs are fast."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean, median
from typing import Any, TypeVar, cast

from markupsafe import Markup

from trialbed.drivers import load_driver
from trialbed.engine import run_queries
from trialbed.errors import TrialbedError
from trialbed.records import Query, Run
from trialbed.statistics import Interval, bounded_mean_interval
from trialbed.store import RunColumns, RunVersion, StoredRun, TrialColumns
from trialbed.views import html_parts

QueryId = int | str

T = TypeVar("T")

HEADLINE = ("sopr_score", "api_call_score")
TIMES = ("wall_time", "model_time", "tool_time", "framework_time")
TOKENS = "total_tokens"

KEPT = 6
"""Runs whose figures are kept."""

KEPT_HEADLINES = 200
"""Runs whose headline figures are kept, as lists show them."""

KEPT_VERIFICATIONS = 8
"""Verifications whose page is kept."""

FRESH = 3.0
"""Seconds for which the version of a run is not asked for again, where its store has no mark that shows it at once."""


@dataclass(frozen=True)
class FigureMean:
    """A mean over trials, its 95 % interval where the score is bounded, and the number of values."""

    value: float | None
    interval: Interval | None
    n: int


@dataclass(frozen=True)
class Headline:
    """The figures of a run in the list of runs.

    Attributes:
        means: of the first score for each framework, best first.
    """

    answered: int
    failed: int
    means: Sequence[tuple[str, FigureMean]]


@dataclass(frozen=True)
class RunFigures:
    """A run with the columns of its trials.

    Attributes:
        queries: the tasks, None where the dataset is out of reach or has changed.
    """

    run: StoredRun
    columns: RunColumns
    queries: Mapping[QueryId, Query] | None
    _known: dict[object, Any] = field(default_factory=dict, repr=False, compare=False)

    @cached_property
    def cells(self) -> Mapping[tuple[str, QueryId], Sequence[TrialColumns]]:
        """The trials of each framework on each query, in the order of their repeats."""
        found: dict[tuple[str, QueryId], list[TrialColumns]] = {}
        for trial in self.columns.trials:
            found.setdefault((trial.key.framework, trial.key.query_id), []).append(trial)
        return {key: sorted(own, key=lambda trial: trial.key.repeat) for key, own in found.items()}

    @cached_property
    def by_framework(self) -> Mapping[str, Sequence[TrialColumns]]:
        """The trials of each framework, in the order in which they ended."""
        found: dict[str, list[TrialColumns]] = {name: [] for name in self.run.config.frameworks}
        for trial in self.columns.trials:
            found.setdefault(trial.key.framework, []).append(trial)
        return found

    @property
    def quality(self) -> list[str]:
        """The scores that lie in [0, 1], those of quality first."""
        kinds = self.columns.kinds
        return sorted((name for name in kinds if kinds[name].bounded), key=lambda name: not kinds[name].quality)

    @property
    def trials_per_framework(self) -> int:
        """The trials that the run has for each framework."""
        return len(self.run.config.query_ids) * self.run.config.repeat

    def value(self, trial: TrialColumns, score: str) -> float | None:
        """Return the value of a score that counts: 0 for quality of a failed trial, None where there is none."""
        if trial.status == "answered":
            found = self.columns.values.get(score, {}).get(trial.row)
            return found if found is None or math.isfinite(found) else None
        kind = self.columns.kinds.get(score)
        counts = kind is not None and kind.quality and trial.status == "failed"
        if not counts:
            return None
        # Some scores need gold arguments, which not every query has.
        return 0.0 if score in HEADLINE or trial.key.query_id in self._queries_with(score) else None

    def _queries_with(self, score: str) -> frozenset[QueryId]:
        """Return the queries of which any trial has a score."""
        values = self.columns.values.get(score, {})
        return self.once(
            ("queries", score),
            lambda: frozenset(trial.key.query_id for trial in self.columns.trials if trial.row in values),
        )

    def mean(self, framework: str, score: str) -> FigureMean:
        """Return the mean of a score over a framework's trials."""
        return self.once(("mean", framework, score), lambda: self._mean(framework, score))

    def once(self, key: object, make: Callable[[], T]) -> T:
        """Return a value of these figures, which is made when it is first asked for."""
        if key not in self._known:
            self._known[key] = make()
        return cast("T", self._known[key])

    def _mean(self, framework: str, score: str) -> FigureMean:
        values: dict[QueryId, list[float]] = {}
        for trial in self.by_framework.get(framework, ()):
            value = self.value(trial, score)
            if value is not None:
                values.setdefault(trial.key.query_id, []).append(value)
        every = [value for repeats in values.values() for value in repeats]
        kind = self.columns.kinds.get(score)
        bounded = kind is not None and kind.bounded and all(0 <= value <= 1 for value in every)
        return FigureMean(
            fmean(every) if every else None, bounded_mean_interval(values) if every and bounded else None, len(every)
        )

    def median(self, framework: str, score: str) -> float | None:
        """Return the median of a figure over a framework's trials with an answer."""
        values = self.columns.values.get(score, {})
        own = [values[trial.row] for trial in self.by_framework.get(framework, ()) if trial.row in values]
        return median(own) if own else None

    def ends(self, framework: str) -> Counter[str]:
        """Count the trials by their status."""
        return Counter(trial.status for trial in self.by_framework.get(framework, ()))

    def failures(self, framework: str) -> Counter[str]:
        """Count the failed trials by the kind of their failure."""
        return Counter(trial.failure for trial in self.by_framework.get(framework, ()) if trial.failure)

    def text(self, query_id: QueryId) -> str:
        """Return the task of a query; empty where it is not known."""
        query = self.queries.get(query_id) if self.queries else None
        return query.text if query else ""

    def worst(self, score: str) -> Iterator[tuple[float, QueryId]]:
        """Yield each query that has the score with its mean over all frameworks, the worst first."""
        found = []
        for query_id in self.run.config.query_ids:
            values = [
                value
                for name in self.run.config.frameworks
                for trial in self.cells.get((name, query_id), ())
                if (value := self.value(trial, score)) is not None
            ]
            if values:
                found.append((fmean(values), query_id))
        # Queries of one mean stay in the run's order.
        yield from sorted(found, key=lambda item: item[0])


@dataclass
class _CacheEntry:
    """A value that was read of a run.

    Attributes:
        version: of the run.
        mark: of the store, at the time ``seen``.
    """

    record: Run
    version: RunVersion
    mark: object
    seen: float
    value: Any


class FigureCache:
    """Figures of the runs that were looked at last; any thread may use it.

    Args:
        data_dir: where datasets are.
    """

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._figures = OrderedDict[tuple[str, str], _CacheEntry]()
        self._headlines = OrderedDict[tuple[str, str], _CacheEntry]()
        self._verifications = OrderedDict[tuple[str, str], _CacheEntry]()
        self._queries: dict[str, Mapping[QueryId, Query] | None] = {}
        self._of_store: tuple[object, Any] | None = None
        self._lock = threading.Lock()

    def of(self, run: StoredRun, score: str = HEADLINE[0]) -> RunFigures:
        """Return the figures of a run, with the values of a score beside those of the headline and the times."""
        names = tuple(dict.fromkeys((*HEADLINE, *TIMES, TOKENS, score)))
        key = (run.run_id, "" if score in names[: len(names) - 1] else score)
        return self._cached_value(self._figures, KEPT, key, run, lambda: self._read(run, names))

    def headline(self, run: StoredRun) -> Headline:
        """Return the figures of a run in the list of runs."""

        def read() -> Headline:
            figures = RunFigures(run, run.columns(HEADLINE[:1]), None)
            ends = Counter(trial.status for trial in figures.columns.trials)
            means = [(name, figures.mean(name, HEADLINE[0])) for name in run.config.frameworks]
            means.sort(key=lambda item: 1.0 if item[1].value is None else -item[1].value)
            return Headline(ends["answered"], ends["failed"], means)

        return self._cached_value(self._headlines, KEPT_HEADLINES, (run.run_id, ""), run, read)

    def verification(self, run: StoredRun) -> Markup:
        """Return the content of the page of a verification, which the component ``verification`` makes."""

        def read() -> Markup:
            return html_parts(run.run_id, load_driver("components", "verification").page_parts(run))

        return self._cached_value(self._verifications, KEPT_VERIFICATIONS, (run.run_id, ""), run, read)

    def of_store(self, mark: object, read: Callable[[], T]) -> T:
        """Return a value of the whole store; it is read anew when the store's mark is another, or where it has none."""
        with self._lock:
            found = self._of_store
        if found is None or mark is None or found[0] != mark:
            found = mark, read()
            with self._lock:
                self._of_store = found
        return cast("T", found[1])

    def _read(self, run: StoredRun, names: Sequence[str]) -> RunFigures:
        return RunFigures(run, run.columns(names), self.queries(run))

    def _cached_value(
        self,
        entries: OrderedDict[tuple[str, str], _CacheEntry],
        most: int,
        key: tuple[str, str],
        run: StoredRun,
        read: Callable[[], T],
    ) -> T:
        """Return the cached value of a key if the run is as it was, else read it."""
        with self._lock:
            found = entries.get(key)
        mark, now = run.mark, time.monotonic()
        same = found is not None and found.record == run.record
        if found is not None and same and (found.mark == mark if mark else now - found.seen < FRESH):
            return cast("T", found.value)
        version = run.version()
        value: T = found.value if found is not None and same and found.version == version else read()
        with self._lock:
            entries[key] = _CacheEntry(run.record, version, mark, now, value)
            entries.move_to_end(key)
            while len(entries) > most:
                entries.popitem(last=False)
        return value

    def queries(self, run: StoredRun) -> Mapping[QueryId, Query] | None:
        """Return the tasks of a run; None where its dataset is out of reach or has changed."""
        if run.run_id not in self._queries:
            try:
                self._queries[run.run_id] = run_queries(run.config, self._data_dir)
            except (TrialbedError, OSError):
                self._queries[run.run_id] = None
        return self._queries[run.run_id]
