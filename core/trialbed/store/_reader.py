"""Reads a store: its runs, their trials, and what the server saw of each."""

from __future__ import annotations

import html
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Self

from trialbed.errors import DataError, UsageError
from trialbed.records import (
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
from trialbed.settings import store_file
from trialbed.store._attempts import counted_attempts
from trialbed.store._columns import RunColumns, RunVersion, read_columns, read_version
from trialbed.store._database import Database, open_database
from trialbed.store._frames import trial_frame
from trialbed.store._gold_answers import read_gold_answers
from trialbed.store._json import encode_id
from trialbed.store._lock import is_held
from trialbed.store._runs import each_run, find_run, fits, read_selection
from trialbed.store._stored_trial import StoredTrial
from trialbed.store._trials import each_result, read_results, read_trials, read_wire

RECORDED: dict[RunStatus, tuple[RunStatus, ...]] = {"interrupted": ("running",)}
"""Status -> others that the records of such runs may have."""


def open_store(url_or_path: str | None = None) -> StoreReader:
    """Open a store to read its runs and trials; best in a ``with`` statement.

    Nothing is ever changed.
    Runs that are under way can be read: they show what was committed when they are asked for.

    Args:
        url_or_path: a file or a SQLAlchemy URL, as ``bench run --store`` takes it; default: the store of the
            state folder, ``.trialbed/trialbed.db``.

    Raises:
        UsageError: the URL is malformed or its driver is not installed.
        DataError: there is no store, it is damaged, or a newer version of Trialbed wrote it.
    """
    return StoreReader(url_or_path or store_file())


def open_run(run_id: str = "latest", store: str | None = None) -> StoredRun:
    """A run of a store, with its trials; in a notebook, it shows itself.

    Args:
        run_id: its id, or the beginning of it where no other begins so; ``latest`` for the run that began last.
        store: a file or URL, as ``open_store`` takes it.

    Raises:
        UsageError, DataError: as ``open_store`` and ``StoreReader.run`` say.
    """
    return open_store(store).run(run_id)


class StoreReader:
    """The runs of a store, as ``open_store`` returns it.

    Every method raises ``DataError`` for a database that is damaged, locked or out of reach.
    """

    def __init__(self, url_or_path: str) -> None:
        self._database: Database | None = open_database(url_or_path, read_only=True)

    @property
    def place(self) -> str:
        """The store's file, or its URL without the password."""
        return self._open().where

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def mark(self) -> object:
        """Equal as long as nothing has been written to the store; None where that cannot be told at once.

        For a file it is known from the file itself, and the log beside it.
        """
        path = self._open().engine.url.database
        if self._open().engine.dialect.name != "sqlite" or not path:
            return None
        return tuple(_changed(Path(f"{path}{ending}")) for ending in ("", "-wal"))

    def close(self) -> None:
        """Close every connection; what was read before stays usable."""
        if self._database is not None:
            self._database.engine.dispose()
            self._database = None

    def runs(
        self,
        *,
        framework: str | None = None,
        model: str | None = None,
        dataset: str | None = None,
        status: RunStatus | None = None,
        since: datetime | None = None,
        tags: Collection[str] = (),
        limit: int | None = None,
    ) -> tuple[StoredRun, ...]:
        """The runs that fit, latest first.

        Args:
            framework: runs of this framework; ``langgraph`` fits ``langgraph==1.1.0`` too.
            model: runs of this model.
            dataset: runs of this dataset, as given to ``--dataset``, or of this test set.
            status: ``running``, ``interrupted``, ``incomplete`` or ``finished``, as ``StoredRun.status`` has it.
            since: runs that began then or later; a time with its zone.
            tags: runs that have all of these.
            limit: this many at most; None for all.
        """
        with self._open().read() as connection:
            found = (
                seen
                for run in each_run(connection, () if status is None else {status, *RECORDED.get(status, ())})
                if fits(run.config, framework, model, dataset) and (since is None or run.created_at >= since)
                if set(tags) <= set(run.tags)
                if (seen := self._seen(run)).status == status or status is None
            )
            return tuple(StoredRun(self, run) for run in islice(found, limit))

    def run(self, run_id: str) -> StoredRun:
        """The run with this id.

        Args:
            run_id: its id, or the beginning of it where no other begins so; ``latest`` for the run that began last.

        Raises:
            DataError: the store has no such run, or several; lists them.
        """
        with self._open().read() as connection:
            return StoredRun(self, self._seen(find_run(connection, run_id)))

    def _seen(self, run: Run) -> Run:
        """The run with the status that it has now: the record of one whose process was killed says ``running``."""
        if run.status != "running":
            return run
        with self._open().explained():
            locks = (run.config_digest, run.run_id)
            is_under_way = any(is_held(self._open().engine, name) for name in locks)
        return run if is_under_way else run.model_copy(update={"status": "interrupted"})

    def _open(self) -> Database:
        if self._database is None:
            raise DataError("the store is closed; read from it inside the `with` statement that opens it")
        return self._database

    def _attempts(
        self, run_id: str, framework: str | None, query_id: int | str | None, repeat: int | None
    ) -> tuple[StoredTrial, ...]:
        columns = {
            "framework": framework,
            "query_id": None if query_id is None else encode_id(query_id),
            "repeat": repeat,
        }
        given = {name: value for name, value in columns.items() if value is not None}
        with self._open().read() as connection:
            rows = read_trials(connection, run_id, **given)
        return tuple(StoredTrial(run_id, self._wire, row_id, result) for row_id, result in rows)

    def _trials(
        self, run_id: str, framework: str | None, query_id: int | str | None, repeat: int | None
    ) -> Iterator[StoredTrial]:
        attempts = self._attempts(run_id, framework, query_id, repeat)
        counted = {id(result) for result in counted_attempts(attempt._record for attempt in attempts)}
        return (attempt for attempt in attempts if id(attempt._record) in counted)

    def _columns(self, run_id: str, scores: Collection[str]) -> RunColumns:
        with self._open().read() as connection:
            return read_columns(connection, run_id, scores)

    def _version(self, run_id: str) -> RunVersion:
        with self._open().read() as connection:
            return read_version(connection, run_id)

    def _results(self, run_id: str) -> tuple[TrialResult, ...]:
        with self._open().read() as connection:
            return tuple(read_results(connection, run_id, None))

    def _each_result(self, run_id: str) -> Iterator[TrialResult]:
        with self._open().read() as connection:
            yield from each_result(connection, run_id)

    def _wire(self, row_id: int, wire: WireLog) -> WireLog:
        with self._open().read() as connection:
            return read_wire(connection, row_id, wire)

    def _gold_answers(self, run_id: str) -> dict[int | str, GoldAnswer]:
        with self._open().read() as connection:
            return {answer.query_id: answer for answer in read_gold_answers(connection, run_id)}

    def _selection(self, run_id: str, query_id: int | str) -> tuple[ToolSpec, ...]:
        with self._open().read() as connection:
            return read_selection(connection, run_id, query_id) or ()


@dataclass(frozen=True)
class StoredRun:
    """A run in a store.

    Attributes:
        record: all that the store holds of the run itself; the properties are the parts that are asked for most.
    """

    _store: StoreReader = field(repr=False, compare=False)
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
        """When the run began."""
        return self.record.created_at

    @property
    def overall_time(self) -> float:
        """Seconds that the run took, its interruptions left out."""
        return self.record.overall_time

    @property
    def tags(self) -> tuple[str, ...]:
        """What ``bench run --tag`` called it."""
        return self.record.tags

    @property
    def note(self) -> str:
        """What ``bench run --note`` says of it."""
        return self.record.note

    @property
    def frameworks(self) -> tuple[FrameworkInfo, ...]:
        """The frameworks as the workers found them: versions, packages, deviations."""
        return self.record.frameworks

    def framework(self, name: str) -> str:
        """The run's framework that a name stands for: ``langgraph`` for ``langgraph:native==1.1.0``, if it is alone.

        Raises:
            UsageError: there is no such framework, or several.
        """
        meant = meant_labels(name, self.config.frameworks)
        if len(meant) == 1:
            return meant[0]
        said = f"{name!r} may be {' or '.join(meant)}" if meant else f"there is no framework {name!r}"
        raise UsageError(f"run {self.run_id}: {said}; its frameworks are {', '.join(self.config.frameworks)}")

    def results(self) -> tuple[TrialResult, ...]:
        """Every attempt as a whole, wire logs included, in the order in which they ended: all of it is read at once."""
        return self._store._results(self.run_id)

    def each_result(self) -> Iterator[TrialResult]:
        """What ``results`` reads, a part at a time: a large run need not fit into memory."""
        return self._store._each_result(self.run_id)

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
            failed: True for trials that ended in an error, False for those that ended with an answer.
            failure: trials that failed in this way.
            status: ``answered``, ``failed`` or ``not measured``.
        """
        return tuple(
            trial
            for trial in self._store._trials(self.run_id, framework, query_id, None)
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

        A failed trial is 0 in scores of quality, so that means are those of the result document, apart from times, of
        which the document leaves out each worker's first; what has no value is missing.

        Raises:
            UsageError: pandas is not installed: ``pip install 'trialbed[dataframe]'`` installs it.
        """
        return trial_frame(self.run_id, self.config, [trial._record for trial in self.trials()])

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
        return self._store._attempts(self.run_id, framework, query_id, repeat)

    def columns(self, scores: Collection[str] = ()) -> RunColumns:
        """The trials that count as columns, which is fast for very many: their ends and times, and values of scores.

        Args:
            scores: the scores to read.
        """
        return self._store._columns(self.run_id, scores)

    @property
    def mark(self) -> object:
        """As ``StoreReader.mark``."""
        return self._store.mark

    def version(self) -> RunVersion:
        """Equal as long as the store holds the same trials of this run, with the same scores, and the same status."""
        return self._store._version(self.run_id)

    def trial(self, framework: str, query_id: int | str, repeat: int = 0) -> StoredTrial:
        """One trial: the attempt that counts.

        Raises:
            DataError: the run has no such trial, or it has not ended yet.
        """
        for trial in self._store._trials(self.run_id, framework, query_id, repeat):
            return trial
        raise DataError(
            f"run {self.run_id!r} has no trial of {framework} on query {query_id!r}, repeat {repeat}; it has "
            f"{', '.join(self.config.frameworks)} on {len(self.config.query_ids)} queries, "
            f"{self.config.repeat} trials each, and is {self.status}"
        )

    def tools(self, query_id: int | str) -> tuple[ToolSpec, ...]:
        """The tools that a query of this run was offered; empty where the run did not get to select them."""
        return self._store._selection(self.run_id, query_id)

    def gold_answers(self) -> dict[int | str, GoldAnswer]:
        """What the gold calls of its queries were answered, by the query's id; empty where none were made."""
        return self._store._gold_answers(self.run_id)


def _changed(path: Path) -> tuple[int, int] | None:
    """When a file was last written, in nanoseconds, and its size; None without one."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
