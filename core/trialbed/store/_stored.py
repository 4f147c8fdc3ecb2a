"""A run in a store, and its trials."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import Any

from sqlalchemy import Connection

from trialbed.errors import DataError, UsageError
from trialbed.records import (
    Annotation,
    Answer,
    Failure,
    FailureKind,
    FrameworkInfo,
    GoldAnswer,
    IntegrityFinding,
    Run,
    RunConfig,
    RunStatus,
    Score,
    Timing,
    ToolSpec,
    TrialKey,
    TrialResult,
    TrialStatus,
    WireLog,
    meant_labels,
)
from trialbed.scoring import TIMES
from trialbed.store._rows import encode_id
from trialbed.store._runs import read_gold_answers, read_selections
from trialbed.store._table import TrialTable, frame_columns, read_headline, read_table
from trialbed.store._trials import (
    IN_PART,
    count_ends,
    counted_attempts,
    each_result,
    read_trials,
    read_wire,
    results_of,
)
from trialbed.suggestions import closest
from trialbed.texts import number_of

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

    def table(self, renamed: Mapping[str, str] | None = None) -> TrialTable:
        """Return the trials that count as columns, framework by framework in the order of queries and repeats.

        Args:
            renamed: name of a score -> another one under which it stands, in place of the score that has it.
        """
        every = self.attempt_table(renamed)
        return every.take(every["counts"])

    def attempt_table(self, renamed: Mapping[str, str] | None = None) -> TrialTable:
        """Return every attempt as ``table`` does; the column ``counts`` marks those that count."""
        with self._read() as connection:
            return read_table(connection, self.record, renamed or {})

    def headline(self) -> dict[str, tuple[int, int, float | None]] | None:
        """Return the answered and failed trials of each framework and its mean of ``sopr_score``, fast.

        None if only the table has them, because trials have several attempts or another model answered.
        """
        with self._read() as connection:
            return read_headline(connection, self.record)

    def ends(self) -> Counter[TrialStatus]:
        """Count the trials that count by how they ended."""
        with self._read() as connection:
            return count_ends(connection, self.run_id)

    def each_counted(self) -> Iterator[TrialResult]:
        """Yield the trials that count, whole, in the order of ``table``, read a part at a time."""
        return self.results_at(self.table()["row"].tolist())

    def results_at(self, rows: Sequence[int]) -> Iterator[TrialResult]:
        """Yield the attempts of some rows, as the column ``row`` of a table has them, whole and in this order.

        They are read a part at a time, each as it is then: what is written meanwhile does not wait for the reader.

        Raises:
            DataError: one of them is gone.
        """
        for first in range(0, len(rows), IN_PART):
            own = rows[first : first + IN_PART]
            with self._read() as connection:
                part = list(results_of(connection, own))
            if len(part) < len(own):
                raise DataError(f"trials of run {self.run_id} were deleted while they were read")
            yield from part

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
        """Return ``table`` as a pandas DataFrame: a row for each trial that counts, a column for each score.

        A failed trial is 0 in scores of quality, and the times of each worker's first trial are missing wherever
        tables leave them out, so that means are those of the tables; column ``first`` marks these trials, and
        ``timing`` of the trial has their times. Scores without a value are missing.

        Raises:
            UsageError: pandas is not installed, which comes with the extra ``dataframe``.
        """
        from trialbed.store._frames import data_frame

        table = self.table()
        untimed = TIMES if table.first_apart else ()
        return data_frame(frame_columns(table, self.record, table.quality, untimed))

    def calls_frame(self) -> Any:
        """A pandas DataFrame with a row for each call of an Api, in the trials that count.

        ``place`` counts the calls of a trial from 0; the other columns are the fields of ``ApiCall``, with seconds.

        Raises:
            UsageError: pandas is not installed.
        """
        from trialbed.store._frames import calls_frame

        return calls_frame(self.run_id, (trial.result for trial in self.trials()))

    def messages_frame(self) -> Any:
        """A pandas DataFrame with a row for each message between agent and model, in the trials that count.

        ``request`` counts the requests of a trial from 0. A request has the messages that it adds to the conversation
        before it, or all of them where it changed that; ``answer`` marks the model's own, with its ``tokens``.

        Raises:
            UsageError: pandas is not installed.
        """
        from trialbed.store._frames import messages_frame

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
        return tuple(StoredTrial(self.run_id, self._read, row_id, result) for row_id, result in rows)

    @property
    def mark(self) -> object:
        """As ``StoreReader.mark``."""
        return self._mark()

    def trial(self, framework: str, query_id: int | str, repeat: int = 0) -> StoredTrial:
        """One trial: the attempt that counts.

        Raises:
            DataError: the run has no such trial, or it has not ended yet.
        """
        for trial in self._counted_trials(self.attempts(framework=framework, query_id=query_id, repeat=repeat)):
            return trial
        repeats = number_of(self.config.repeat, "trial")
        raise DataError(
            f"run {self.run_id!r} has no trial of {framework} on query {query_id!r}, repeat {repeat}; it has "
            f"{', '.join(self.config.frameworks)} on {number_of(len(self.config.query_ids), 'query', 'queries')}, "
            f"{repeats} each, and is {self.status}"
        )

    def tools(self, query_id: int | str, framework: str = "") -> tuple[ToolSpec, ...]:
        """The tools that a query of this run was offered; empty where the run did not get to select them.

        Args:
            framework: empty for the first; one with another number of tools may be offered others.
        """
        most = self.config.cell(framework or self.config.frameworks[0]).max_tools
        with self._read() as connection:
            found = read_selections(connection, self.run_id, [query_id], most)
        return found.get(query_id, ())

    def gold_answers(self) -> dict[int | str, GoldAnswer]:
        """Return the answers to the expected calls of its queries, by the query's id; empty where none were made."""
        with self._read() as connection:
            return read_gold_answers(connection, self.run_id)

    def _counted_trials(self, attempts: Sequence[StoredTrial]) -> Iterator[StoredTrial]:
        counted = {id(result) for result in counted_attempts(attempt._record for attempt in attempts)}
        return (attempt for attempt in attempts if id(attempt._record) in counted)


@dataclass(frozen=True)
class StoredTrial:
    """A trial in a store; its wire log is read when it is first asked for.

    Attributes:
        run_id: the run that it belongs to.
    """

    run_id: str
    _read: ReadStore = field(repr=False, compare=False)
    _row: int = field(repr=False)
    _record: TrialResult = field(repr=False)

    @property
    def key(self) -> TrialKey:
        """Framework, query and repeat."""
        return self._record.key

    @property
    def attempt(self) -> int:
        """The number of the attempt, from 0."""
        return self._record.attempt

    @property
    def status(self) -> TrialStatus:
        """``answered``, ``failed`` (every quality score is 0) or ``not measured`` (there is no score)."""
        return self._record.status

    @property
    def adapter_digest(self) -> str:
        """The digest of the adapter's code and environment; empty where there is no adapter."""
        return self._record.adapter_digest

    @property
    def token(self) -> str:
        """The trial's token, as it stood in the URLs of its requests."""
        return self._record.trial

    @property
    def seed(self) -> int:
        """The seed that was sent with every model request."""
        return self._record.seed

    @property
    def started_at(self) -> datetime:
        """The time at which the agent began."""
        return self._record.outcome.started_at

    @property
    def answer(self) -> Answer | None:
        """The answer with the calls, tokens and turns that the agent claims; None if it gave none.

        It stands beside a failure if the server saw more than the agent says, such as requests past the limit.
        """
        return self._record.outcome.answer

    @property
    def failure(self) -> Failure | None:
        """The reason why there is no answer that counts; None if there is one."""
        return self._record.outcome.failure

    @property
    def failed(self) -> bool:
        """Return whether the trial ended in an error."""
        return self._record.failed

    @property
    def first(self) -> bool:
        """Whether it was the first trial of its worker, whose start-up is in its times."""
        return self._record.first

    @property
    def pair(self) -> tuple[int | str, int]:
        """The query and the repeat."""
        return self._record.pair

    @property
    def integrity(self) -> tuple[IntegrityFinding, ...] | None:
        """The findings on whether the scores are the framework's and the model's; None where nobody looked for any."""
        return self._record.integrity

    @property
    def timing(self) -> Timing:
        """Wall time and its parts, in seconds."""
        return self._record.timing

    @property
    def selected_tools(self) -> tuple[str, ...]:
        """The names of the tools on offer; ``StoredRun.tools`` has their schemas."""
        return self._record.selected_tools

    @property
    def topped_up_tools(self) -> tuple[str, ...]:
        """Those of ``selected_tools`` that fill up a choice of the selector's model, which was too short."""
        return self._record.topped_up_tools

    @property
    def scores(self) -> tuple[Score, ...]:
        """Every score, with its evidence in ``detail`` (a judge's reason and votes) or why it has no value.

        Only trials that were answered have any; a failed one counts as 0 in means of scores of quality.
        """
        return self._record.scores

    def score(self, name: str) -> Score | None:
        """The score of this name, None where there is none."""
        return self._record.score(name)

    @cached_property
    def wire(self) -> WireLog:
        """The server's log: model requests with their responses, and calls of Apis, in order.

        Raises:
            DataError: the store is closed, or a body is damaged.
        """
        with self._read() as connection:
            return read_wire(connection, self._row, self._record.wire)

    @cached_property
    def result(self) -> TrialResult:
        """All of it as one record, the wire log included."""
        return self._record.model_copy(update={"wire": self.wire})
