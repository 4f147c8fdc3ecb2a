"""A run in a store."""

from __future__ import annotations

import html
from array import array
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import Connection

from trialbed.errors import DataError, UsageError
from trialbed.records import (
    Annotation,
    FailureKind,
    FrameworkInfo,
    GoldAnswer,
    Run,
    RunConfig,
    RunStatus,
    ToolSpec,
    TrialResult,
    TrialStatus,
    WireLog,
    meant_labels,
)
from trialbed.store._attempts import counted_attempts
from trialbed.store._column_rows import read_column_table
from trialbed.store._column_table import VERSION, ColumnTable, read_table, table_text
from trialbed.store._columns import RunColumns, RunVersion, read_version
from trialbed.store._frames import calls_frame, messages_frame, trial_frame
from trialbed.store._offers import StoredOffers
from trialbed.store._reports import MadeReport, ReportPart, read_part, trials_version
from trialbed.store._rows import encode_id
from trialbed.store._runs import read_gold_answers, read_selections
from trialbed.store._stored_trial import StoredTrial
from trialbed.store._trials import each_result, read_trials, read_wire, results_of
from trialbed.suggestions import closest

COLUMNS = "columns"
"""The part of a report that has the columns of the trials."""

KEPT_FROM = 1_000
"""Attempts from which on what had to be read of each of them is kept for the next reader."""

ReadStore = Callable[[], AbstractContextManager[Connection]]
"""Begins a transaction that sees one state of the store."""


@dataclass(frozen=True)
class StoredRun:
    """A run in a store.

    Attributes:
        record: all that the store holds of the run itself; the properties are the parts that are asked for most.
    """

    _read: ReadStore = field(repr=False, compare=False)
    _mark: Callable[[], object] = field(repr=False, compare=False)
    record: Run

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.record.run_id

    @property
    def config(self) -> RunConfig:
        """The configuration: frameworks, dataset, model, seed and every other setting of the run's identity."""
        return self.record.config

    @property
    def status(self) -> RunStatus:
        """``running``, ``interrupted``, ``incomplete`` (some trials were not measured) or ``finished``.

        A run whose process was killed is ``interrupted`` too.
        """
        return self.record.status

    @property
    def created_at(self) -> datetime:
        """The time at which the run began."""
        return self.record.created_at

    @property
    def overall_time(self) -> float:
        """Seconds that the run took, its interruptions left out."""
        return self.record.overall_time

    @property
    def tags(self) -> tuple[str, ...]:
        """The names that ``bench run --tag`` gave it."""
        return self.record.tags

    @property
    def note(self) -> str:
        """The text that ``bench run --note`` gave it."""
        return self.record.note

    @property
    def annotations(self) -> dict[tuple[str, int | str, int], Annotation]:
        """The annotations of its trials, by framework, query and repeat."""
        return {one.key: one for one in self.record.annotations}

    @property
    def flights(self) -> str:
        """The requests to its model that take long now, in words; empty for none."""
        return self.record.flights

    @property
    def frameworks(self) -> tuple[FrameworkInfo, ...]:
        """The frameworks as the workers found them: versions, packages, deviations."""
        return self.record.frameworks

    def framework(self, name: str) -> str:
        """The run's framework that a name stands for: ``langgraph`` for ``langgraph:native==1.1.0``, if it is alone.

        Of a verification it is a vendor.

        Raises:
            UsageError: there is no such framework, or several.
        """
        meant = meant_labels(name, self.config.frameworks)
        if len(meant) == 1:
            return meant[0]
        noun = "vendor" if self.record.kind == "endpoints" else "framework"
        close = closest(name, self.config.frameworks)
        said = f"{name!r} may be {' or '.join(meant)}" if meant else f"there is no {noun} {name!r}"
        hint = f"; did you mean {close!r}? Its" if close and not meant else "; its"
        raise UsageError(f"run {self.run_id}: {said}{hint} {noun}s are {', '.join(self.config.frameworks)}")

    def results(self) -> tuple[TrialResult, ...]:
        """Every attempt as a whole, wire logs included, in the order in which they ended: all of it is read at once."""
        return tuple(self.each_result())

    def each_result(self) -> Iterator[TrialResult]:
        """Yield the records of ``results``, read a part at a time: a large run need not fit into memory."""
        with self._read() as connection:
            yield from each_result(connection, self.run_id)

    def each_counted(self) -> Iterator[TrialResult]:
        """Yield the trials that count, whole, framework by framework in the order of queries and repeats.

        They are read a part at a time, as those of ``each_result``.
        """
        queries = {query_id: place for place, query_id in enumerate(self.config.query_ids)}
        frameworks = {framework: place for place, framework in enumerate(self.config.frameworks)}
        ordered = sorted(
            (frameworks[trial.key.framework], queries[trial.key.query_id], trial.key.repeat, trial.row)
            for trial in self.columns().trials
        )
        rows = array("q", (row for *_, row in ordered))
        del ordered, queries
        with self._read() as connection:
            yield from results_of(connection, rows)

    def trials(
        self,
        *,
        framework: str | None = None,
        query_id: int | str | None = None,
        failed: bool | None = None,
        failure: FailureKind | None = None,
        status: TrialStatus | None = None,
    ) -> tuple[StoredTrial, ...]:
        """The trials that are committed and fit, in the order in which they ended.

        Of a trial with several attempts it is the one that counts; ``attempts`` has all.

        Args:
            framework: trials of this framework, by its name in the run (``langgraph==1.1.0``).
            query_id: trials of this query; 5 and "5" are different queries.
            failed: True for trials that ended in an error, False for those without failure.
            failure: trials that failed in this way.
            status: ``answered``, ``failed`` or ``not measured``.
        """
        return tuple(
            trial
            for trial in self._counted_trials(self.attempts(framework=framework, query_id=query_id))
            if (failed is None or trial.failed is failed)
            and (failure is None or (trial.failure is not None and trial.failure.kind == failure))
            and (status is None or trial.status == status)
        )

    def _repr_html_(self) -> str:
        """The run as a notebook shows it: its page in a frame of its own, in which nothing runs."""
        from trialbed.drivers import load_driver

        page = load_driver("components", "pages").run_report(self)
        return (
            f'<iframe title="run {html.escape(self.run_id)}" sandbox srcdoc="{html.escape(page)}" '
            'style="width: 100%; height: 40rem; border: 0"></iframe>'
        )

    def to_frame(self) -> Any:
        """A pandas DataFrame with a row for each trial that counts, and a column for each score.

        A failed trial is 0 in scores of quality, and the times of each worker's first trial are missing wherever
        tables leave them out, so that means are those of the tables; column ``first`` marks these trials, and
        ``timing`` of the trial has their times. Scores without a value are missing.

        Raises:
            UsageError: pandas is not installed, which comes with the extra ``dataframe``.
        """
        return trial_frame(self.run_id, self.config, [trial._record for trial in self.trials()])

    def calls_frame(self) -> Any:
        """A pandas DataFrame with a row for each call of an Api, in the trials that count.

        ``place`` counts the calls of a trial from 0; the other columns are the fields of ``ApiCall``, with seconds.

        Raises:
            UsageError: pandas is not installed.
        """
        return calls_frame(self.run_id, (trial.result for trial in self.trials()))

    def messages_frame(self) -> Any:
        """A pandas DataFrame with a row for each message between agent and model, in the trials that count.

        ``request`` counts the requests of a trial from 0. A request has the messages that it adds to the conversation
        before it, or all of them where it changed that; ``answer`` marks the model's own, with its ``tokens``.

        Raises:
            UsageError: pandas is not installed.
        """
        return messages_frame(self.run_id, (trial.result for trial in self.trials()))

    def attempts(
        self, *, framework: str | None = None, query_id: int | str | None = None, repeat: int | None = None
    ) -> tuple[StoredTrial, ...]:
        """Every attempt that is committed, in the order in which they ended.

        A trial has several attempts if it was not measured and run again, or if failed trials were repeated.

        Args:
            framework: attempts of this framework, by its name in the run.
            query_id: attempts of this query.
            repeat: attempts of this repeat.
        """
        columns = {
            "framework": framework,
            "query_id": None if query_id is None else encode_id(query_id),
            "repeat": repeat,
        }
        given = {name: value for name, value in columns.items() if value is not None}
        with self._read() as connection:
            rows = read_trials(connection, self.run_id, **given)
        return tuple(StoredTrial(self.run_id, self._read_wire, row_id, result) for row_id, result in rows)

    def columns(self, scores: Collection[str] = ()) -> RunColumns:
        """The trials that count as columns, which is fast for very many: their ends and times, and values of scores.

        Args:
            scores: the scores to read.
        """
        return column_table(self, scores).columns(scores)

    def all_columns(self) -> RunColumns:
        """The same with the values of all scores, and the names of the tools on offer."""
        return column_table(self).columns()

    @property
    def mark(self) -> object:
        """As ``StoreReader.mark``."""
        return self._mark()

    def version(self) -> RunVersion:
        """Equal as long as the store holds the same trials of this run, with the same scores, and the same status."""
        with self._read() as connection:
            return read_version(connection, self.run_id)

    def trial(self, framework: str, query_id: int | str, repeat: int = 0) -> StoredTrial:
        """One trial: the attempt that counts.

        Raises:
            DataError: the run has no such trial, or it has not ended yet.
        """
        for trial in self._counted_trials(self.attempts(framework=framework, query_id=query_id, repeat=repeat)):
            return trial
        repeats = "1 trial" if self.config.repeat == 1 else f"{self.config.repeat} trials"
        raise DataError(
            f"run {self.run_id!r} has no trial of {framework} on query {query_id!r}, repeat {repeat}; it has "
            f"{', '.join(self.config.frameworks)} on {len(self.config.query_ids)} queries, "
            f"{repeats} each, and is {self.status}"
        )

    def tools(self, query_id: int | str, framework: str = "") -> tuple[ToolSpec, ...]:
        """The tools that a query of this run was offered; empty where the run did not get to select them.

        Args:
            framework: one with another number of tools than the run may be offered others.
        """
        with self._read() as connection:
            found = read_selections(connection, self.run_id, [query_id], self.config.own_limit(framework))
        return found.get(query_id, ())

    def offers(self, queries: Iterable[int | str]) -> dict[int | None, Mapping[int | str, tuple[ToolSpec, ...]]]:
        """Return the tools that these queries were offered, by ``RunConfig.own_limit`` of the columns.

        They are read when they are asked for, some hundreds of queries at a time: before the reader is closed.
        """
        known = list(queries)
        limits = dict.fromkeys(map(self.config.own_limit, self.config.frameworks))
        return {most: StoredOffers(self._read, self.run_id, known, most) for most in limits}

    def gold_answers(self) -> dict[int | str, GoldAnswer]:
        """Return the answers to the expected calls of its queries, by the query's id; empty where none were made."""
        with self._read() as connection:
            return {answer.query_id: answer for answer in read_gold_answers(connection, self.run_id)}

    def _counted_trials(self, attempts: Sequence[StoredTrial]) -> Iterator[StoredTrial]:
        counted = {id(result) for result in counted_attempts(attempt._record for attempt in attempts)}
        return (attempt for attempt in attempts if id(attempt._record) in counted)

    def _read_wire(self, row_id: int, wire: WireLog) -> WireLog:
        with self._read() as connection:
            return read_wire(connection, row_id, wire)


def report_part(run: StoredRun, name: str, version: str, more: Sequence[str] = ()) -> str | None:
    """Return a part of the report that was kept of a run; None without one that is of the run as it is now.

    Args:
        version, more: as its ``ReportPart`` has them.
    """
    if run.status == "running":
        return None
    with run._read() as connection:
        return read_part(connection, run.record, name, version, more)


def column_table(run: StoredRun, scores: Collection[str] | None = None) -> ColumnTable:
    """Return the trials of a run that count in columns of arrays, for figures over very many: none becomes an object.

    Args:
        scores: the scores that are needed; None for all, and the names of the tools on offer beside them.
    """
    kept = report_part(run, COLUMNS, VERSION)
    if kept is not None:
        return read_table(kept)
    with run._read() as connection:
        return read_column_table(connection, run.run_id, scores)


def trial_columns(
    run: StoredRun,
    keep: Callable[[MadeReport], object],
    meanwhile: Callable[[], AbstractContextManager[object]] = nullcontext,
) -> ColumnTable:
    """Return ``column_table`` with all scores.

    Args:
        keep: keeps columns that had to be read from thousands of trials, for the next reader.
        meanwhile: gives a context in which these are read.
    """
    kept = report_part(run, COLUMNS, VERSION)
    if kept is not None:
        return read_table(kept)
    with meanwhile():
        made = make_columns(run)
    if made is None:
        return column_table(run)
    keep(made)
    return read_table(made.parts[0].text)


def make_columns(run: StoredRun) -> MadeReport | None:
    """Return the columns of a run as a store keeps them; None where its trials are read as fast, or it is running."""
    if run.status == "running" or run.version().attempts < KEPT_FROM:
        return None
    return make_report(run, lambda: ())


def make_report(run: StoredRun, parts: Callable[[], Sequence[ReportPart]]) -> MadeReport:
    """Return the report of a run as a store can keep it: the parts that are made of it now, and its columns.

    The state that it is in while they are made is the one that they are kept for.
    """
    with run._read() as connection:
        version = trials_version(connection, run.run_id)
        table = read_column_table(connection, run.run_id)
    columns = ReportPart(COLUMNS, VERSION, table_text(table))
    return MadeReport(run.record, version, (columns, *parts()))
