"""A run in a store, and its trials, or the cases of a verification."""

from __future__ import annotations

import html
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import select

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
    TrialKey,
    TrialResult,
    TrialStatus,
    meant_labels,
    varied_framework,
)
from trialbed.scoring import TIMES
from trialbed.store._database import trials
from trialbed.store._rows import encode_id
from trialbed.store._store import Store
from trialbed.store._table import TrialTable, frame_columns, read_headline, read_table
from trialbed.store._trials import IN_PART, AttemptSummary, counted_attempts, read_answers, read_exchanges, results_of
from trialbed.suggestions import closest
from trialbed.texts import number_of


@dataclass(frozen=True)
class StoredRun:
    """A run in a store.

    Attributes:
        record: all that the store holds of the run itself; the properties are the parts that are asked for most.
    """

    _store: Store = field(repr=False, compare=False)
    record: Run

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self.record.run_id

    @property
    def config(self) -> RunConfig:
        """The frameworks, dataset, model, seed and every other setting of the run's identity."""
        return self.record.config

    @property
    def status(self) -> RunStatus:
        """``running``, ``interrupted``, ``incomplete`` (some trials were not measured) or ``finished``.

        A run is ``interrupted``, too, if its process was killed.
        """
        return self.record.status

    @property
    def created_at(self) -> datetime:
        """The start time of the run."""
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

    def annotation_of(self, key: TrialKey) -> Annotation | None:
        """Return a person's words on a trial."""
        return self.annotations.get((key.framework, key.query_id, key.repeat))

    @property
    def frameworks(self) -> tuple[FrameworkInfo, ...]:
        """The frameworks as found by the workers, with versions, packages and deviations."""
        return self.record.frameworks

    def framework(self, name: str) -> str:
        """Return the run's framework that a name stands for; ``langgraph`` suffices if only one label has it.

        In a verification it is a vendor.

        Raises:
            UsageError: there is no such framework, or several.
        """
        meant = meant_labels(name, self.config.frameworks)
        if len(meant) == 1:
            return meant[0]
        # A table leaves the model out of the labels below its heading.
        meant = meant or [one for one in self.config.frameworks if varied_framework(one) == varied_framework(name)]
        noun = "vendor" if self.record.kind == "endpoints" else "framework"
        close = closest(name, self.config.frameworks)
        said = f"{name!r} may be {' or '.join(map(repr, meant))}" if meant else f"there is no {noun} {name!r}"
        hint = f"; did you mean {close!r}? Its" if close and not meant else "; its"
        raise UsageError(f"run {self.run_id}: {said}{hint} {noun}s are {', '.join(self.config.frameworks)}")

    def table(self, renamed: Mapping[str, str] | None = None) -> TrialTable:
        """Return the trials that count as columns, ordered by framework, query and repeat.

        Args:
            renamed: name of a score -> its name in the table, in place of any score with that name.
        """
        every = self.attempt_table(renamed)
        return every.take(every["counts"])

    def attempt_table(self, renamed: Mapping[str, str] | None = None) -> TrialTable:
        """Return every attempt as ``table`` does, with a column ``counts`` that marks the attempts that count."""
        with self._store.reading() as connection:
            return read_table(connection, self.record, renamed or {})

    def headline(self) -> dict[str, tuple[int, int, float | None]] | None:
        """Return the answered and failed trials of each framework and its mean of ``sopr_score``, fast.

        None if only the table has them, because trials have several attempts or another model answered.
        """
        with self._store.reading() as connection:
            return read_headline(connection, self.record)

    def ends(self) -> Counter[TrialStatus]:
        """Count the trials that count by how they ended."""
        return Counter(one.status for one in self._counted())

    def each_counted(self) -> Iterator[TrialResult]:
        """Yield the trials that count, whole, in the order of ``table``, read a part at a time."""
        return self.results_at(self.table()["row"].tolist())

    def results_at(self, rows: Sequence[int], renamed: Mapping[str, str] | None = None) -> Iterator[TrialResult]:
        """Yield whole attempts by their numbers in a table's column ``row``, in this order.

        They are read part by part in their current state, and writers do not wait for the reader.

        Args:
            renamed: as ``table`` takes it.

        Raises:
            DataError: an attempt has been deleted.
        """
        for first in range(0, len(rows), IN_PART):
            own = rows[first : first + IN_PART]
            with self._store.reading() as connection:
                part = list(results_of(connection, own))
            if len(part) < len(own):
                raise DataError(f"trials of run {self.run_id} were deleted while they were read")
            if not renamed:
                yield from part
                continue
            for result in part:
                kept = (one for one in result.scores if one.name in renamed or one.name not in renamed.values())
                scores = (one.model_copy(update={"name": renamed.get(one.name, one.name)}) for one in kept)
                yield result.model_copy(update={"scores": tuple(scores)})

    def answers_at(self, rows: Sequence[int]) -> dict[int, str]:
        """Return the final answers of attempts by their numbers in a table's column ``row``, without their calls."""
        with self._store.reading() as connection:
            return read_answers(connection, rows)

    def trials(
        self,
        *,
        framework: str | None = None,
        query_id: int | str | None = None,
        failed: bool | None = None,
        failure: FailureKind | None = None,
        status: TrialStatus | None = None,
    ) -> tuple[TrialResult, ...]:
        """Return the committed trials that match, whole, in the order they ended.

        If a trial has several attempts, the one returned counts in results; ``attempts`` returns all.

        Args:
            framework: trials of this framework, by its name in the run (``langgraph==1.1.0``).
            query_id: trials of this query; 5 and "5" are different queries.
            failed: True for trials that ended in an error, False for trials without failure.
            failure: trials that failed in this way.
            status: ``answered``, ``failed`` or ``not measured``.
        """
        rows = [
            one.row
            for one in self._counted(framework, query_id)
            if failed in (None, one.failure is not None)
            if failure in (None, one.failure) and status in (None, one.status)
        ]
        return tuple(self.results_at(rows))

    def _repr_html_(self) -> str:
        """Return the run's page for a notebook, in a sandboxed frame without scripts."""
        from trialbed.drivers import load_driver

        page = load_driver("components", "pages").run_report(self)
        return (
            f'<iframe title="run {html.escape(self.run_id)}" sandbox srcdoc="{html.escape(page)}" '
            'style="width: 100%; height: 40rem; border: 0"></iframe>'
        )

    def to_frame(self) -> Any:
        """Return ``table`` as a pandas DataFrame, with a row for each trial that counts and a column for each score.

        A failed trial is 0 in scores of quality. The times of each worker's first trial are missing if tables exclude
        them, and means are therefore equal to the tables' means. Column ``first`` marks these trials, and ``timing`` of
        the trial has their times. Scores without a value are missing.

        Raises:
            UsageError: pandas is not installed, which comes with the extra ``dataframe``.
        """
        return trials_frame(self.table(), self.record)

    def calls_frame(self) -> Any:
        """A pandas DataFrame with a row for each call of an Api, in the trials that count.

        ``place`` counts the calls of a trial from 0; the other columns are the fields of ``ApiCall``, with seconds.

        Raises:
            UsageError: pandas is not installed.
        """
        from trialbed.store._frames import calls_frame

        return calls_frame(self.run_id, self.results_at([one.row for one in self._counted()]))

    def messages_frame(self) -> Any:
        """Return a pandas DataFrame with a row for each message between agent and model, in the trials that count.

        ``request`` counts the requests of a trial from 0. A request has the messages that it adds to the conversation,
        or all messages if it changed earlier ones; ``answer`` marks the model's own, with its ``tokens``.

        Raises:
            UsageError: pandas is not installed.
        """
        from trialbed.store._frames import messages_frame

        return messages_frame(self.run_id, self.results_at([one.row for one in self._counted()]))

    def attempts(
        self, *, framework: str | None = None, query_id: int | str | None = None, repeat: int | None = None
    ) -> tuple[TrialResult, ...]:
        """Return every committed attempt, whole, in the order they ended.

        A trial has several attempts if it was not measured and run again, or if failed trials were repeated.

        Args:
            framework: attempts of this framework, by its name in the run.
            query_id: attempts of this query.
            repeat: attempts of this repeat.
        """
        return tuple(self.results_at([one.row for one in self._attempts(framework, query_id, repeat)]))

    @property
    def mark(self) -> object:
        """As ``StoreReader.mark``."""
        return self._store.mark

    def trial(self, framework: str, query_id: int | str, repeat: int = 0) -> TrialResult:
        """Return the attempt of a trial that counts.

        Raises:
            DataError: the run has no such trial, or it has not ended yet.
        """
        if found := self._counted(framework, query_id, repeat):
            return next(self.results_at([found[0].row]))
        repeats = number_of(self.config.repeat, "trial")
        raise DataError(
            f"run {self.run_id!r} has no trial of {framework} on task {query_id!r}, repeat {repeat}; it has "
            f"{', '.join(self.config.frameworks)} on {number_of(len(self.config.query_ids), 'task', 'tasks')}, "
            f"{repeats} each, and is {self.status}"
        )

    def tools(self, query_id: int | str, framework: str = "") -> tuple[ToolSpec, ...]:
        """Return the tools that a query of this run was offered; empty if they were not selected yet.

        Args:
            framework: empty for the first. A framework with another ``max_tools`` may be offered other tools.
        """
        most = self.config.cell(framework or self.config.frameworks[0]).max_tools
        return self._store.selections(self.run_id, [query_id], most).get(query_id, ())

    def tools_of(self, result: TrialResult) -> tuple[ToolSpec, ...]:
        """Return the tools of a trial, both offered and the agent's own."""
        return result.wire.tools_of(self.tools(result.key.query_id, result.key.framework))

    def gold_answers(self) -> dict[int | str, GoldAnswer]:
        """Return the answers to the expected calls by query id; empty if the calls were not made."""
        return self._store.gold_answers(self.run_id)

    def _attempts(
        self, framework: str | None = None, query_id: int | str | None = None, repeat: int | None = None
    ) -> list[AttemptSummary]:
        query = None if query_id is None else encode_id(query_id)
        return self._store.each_attempt_summary(self.run_id, framework=framework, query_id=query, repeat=repeat)

    def _counted(
        self, framework: str | None = None, query_id: int | str | None = None, repeat: int | None = None
    ) -> list[AttemptSummary]:
        return counted_attempts(self._attempts(framework, query_id, repeat))


def trials_frame(table: TrialTable, run: Run) -> Any:
    """Return the trials of a table as a ``pandas.DataFrame``; see ``StoredRun.to_frame``."""
    from trialbed.store._frames import data_frame

    untimed = TIMES if table.first_apart else ()
    return data_frame(frame_columns(table, run, table.quality, untimed))


CASES_IN_ONE = 200
"""Cases that are read in one go."""

Place = tuple[int, int]
"""The case's line in the test set, and the number of the trial."""


class VerifiedCase(NamedTuple):
    """A stored case of a verification, with its findings and the JSON of its request and response."""

    verified: dict[str, Any]
    request: str
    response: str


def verified_cases(run: StoredRun, label: str, place: Place | None = None) -> Iterator[tuple[Place, VerifiedCase]]:
    """Return the cases of an endpoint in the order of the test set, each from its last session.

    They are read a part at a time.

    Args:
        place: the only case to read; None reads all.
    """
    columns = {} if place is None else {"query_id": encode_id(place[0]), "repeat": place[1]}
    own = select(trials.c.query_id, trials.c.repeat, trials.c.id).filter_by(
        run_id=run.run_id, framework=label, **columns
    )
    with run._store.reading() as connection:
        # The last attempt of each case counts.
        rows = {(int(case), repeat): row for case, repeat, row in connection.execute(own.order_by(trials.c.id))}
        places = sorted(rows)
        for first in range(0, len(places), CASES_IN_ONE):
            part = places[first : first + CASES_IN_ONE]
            exchanges = read_exchanges(connection, [rows[place] for place in part])
            for found, (record, request, response) in zip(part, exchanges, strict=True):
                yield found, VerifiedCase(record["verified"], request, response)


def verified_case(run: StoredRun, label: str, place: Place) -> VerifiedCase | None:
    """Return a case of an endpoint from its last session, or None if it does not exist."""
    return next((case for _, case in verified_cases(run, label, place)), None)
