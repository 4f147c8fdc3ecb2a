"""The store as the engine uses it, with its runs as rows, and the run that a command continues or begins."""

from __future__ import annotations

import asyncio
import hashlib
import secrets
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager, contextmanager
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Self, TypedDict, Unpack

from sqlalchemy import Connection, Table, delete, select, update
from sqlalchemy.exc import IntegrityError

from trialbed.errors import DataError
from trialbed.installed import installed_packages
from trialbed.records import (
    Annotation,
    EndpointInfo,
    FrameworkInfo,
    GoldAnswer,
    HelperUse,
    Json,
    Prices,
    Run,
    RunConfig,
    RunStatus,
    Score,
    ScoreDescription,
    ToolSpec,
    TrialKey,
    TrialResult,
    framework_name,
)
from trialbed.settings import secret_values
from trialbed.store._database import Database, compact, gold_answers, hold, open_database, runs, selections, trials
from trialbed.store._rows import (
    IN_ONE,
    Bodies,
    Rows,
    add_body,
    decode,
    decode_record,
    delete_orphans,
    encode,
    encode_id,
    insert,
    insert_bodies,
    read_bodies,
)
from trialbed.store._trials import AttemptSummary, add_scores, counted_attempts, insert_trials, results_of
from trialbed.wire.redaction import redact, redaction_of

MOST_NAMED = 5
"""Runs that a message lists."""


class RunChanges(TypedDict, total=False):
    """The fields of a run that change while it runs, and later; as in ``Run``."""

    status: RunStatus
    config: RunConfig
    config_digest: str
    server_url: str
    overall_time: float
    frameworks: tuple[FrameworkInfo, ...]
    judge: dict[str, Json]
    scores: dict[str, ScoreDescription]
    tags: tuple[str, ...]
    note: str
    against: str | None
    margin: float
    prices: dict[str, Prices]
    helpers: tuple[HelperUse, ...]
    endpoints: tuple[EndpointInfo, ...]
    lost: dict[str, int]
    on_nodes: bool
    over_budget: bool


def read_run(connection: Connection, run_id: str, *, lock: bool = False) -> Run:
    """Read the run with this id; with its lock, others cannot change it until the transaction ends."""
    query = select(runs.c.record).where(runs.c.run_id == run_id)
    record = connection.scalar(query.with_for_update() if lock else query)
    if record is None:
        raise no_run(connection, run_id)
    return decode_record(Run, record)


def no_run(connection: Connection, name: str) -> DataError:
    """Return the error of a run that the store does not have; it lists others."""
    newest = connection.execute(select(runs).order_by(runs.c.created.desc()).limit(MOST_NAMED)).all()
    known = ", ".join(row.run_id for row in newest)
    found = f"its latest runs are {known}" if known else "it has no runs yet; `bench run` creates one"
    return DataError(f"the store has no run {name!r}; {found}")


def fits(config: RunConfig, framework: str | None, model: str | None, dataset: str | None) -> bool:
    """Return whether a run is of this framework, model and dataset; None is any."""
    labels = {label for own in config.frameworks for label in (own, framework_name(own))}
    return (
        (framework is None or framework in labels)
        and (model is None or model in config.models)
        and (dataset is None or dataset in (config.dataset, config.named_dataset, config.test_set))
    )


def run_row(run: Run) -> dict[str, Any]:
    """Return the row of a run."""
    return {
        "run_id": run.run_id,
        "config_digest": run.config_digest,
        "status": run.status,
        "created": run.created_at.timestamp(),
        "record": encode(run.model_dump()),
    }


def new_run(config: RunConfig, config_digest: str) -> Run:
    """A run of this configuration that has not begun."""
    lines = installed_packages()
    return Run(
        # The time makes ids sortable, and some random digits make them unique.
        run_id=f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(3)}",
        config=config,
        config_digest=config_digest,
        status="running",
        created_at=datetime.now(UTC),
        environment_digest=hashlib.sha256("\n".join(lines).encode()).hexdigest(),
        environment=lines,
    )


LATEST = "latest"
"""The name of the run that began last."""


class Store(AbstractContextManager["Store"]):
    """Runs and trials in a database.

    Every method is one transaction: it is complete when it returns, and has changed nothing if it raises or the process
    dies. Methods block; any number of threads and processes may call them concurrently.

    Every method raises ``DataError`` for a database that is damaged, full, locked or out of reach. Methods that change
    or return a run also raise it if the store does not have the run. The text says what to do.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, url_or_path: str) -> Self:
        """Open the store of this file or SQLAlchemy URL; create its folder and schema if they do not exist.

        Raises:
            UsageError: the URL is malformed or its driver is not installed.
            DataError: the database is damaged, another program's, or of another schema version.
        """
        return cls(open_database(url_or_path))

    def __exit__(self, *_: object) -> None:
        self._database.close()

    def close(self) -> None:
        """Close every connection."""
        self._database.close()

    def reading(self) -> AbstractContextManager[Connection]:
        """Return a transaction that sees one state of the store."""
        return self._database.read()

    @property
    def mark(self) -> object:
        """A value that stays equal until something is written to the store; None if there is no cheap one.

        For a file it comes from the state of the file and of its log.
        """
        return self._database.mark

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Hold the lock of this name, which is released when the process ends, even if it is killed.

        The lock of a file is a file next to it; a database uses its own advisory locks.

        Raises:
            UsageError: another process holds it.
        """
        with ExitStack() as held:
            with self._database.explain_errors():
                held.enter_context(hold(self._database.engine, name))
            yield

    def create_run(self, run: Run) -> None:
        """Add a run.

        Raises:
            DataError: there is a run with this id.
        """
        try:
            with self._database.write() as connection:
                connection.execute(runs.insert().values(run_row(run)))
        except IntegrityError as error:
            raise DataError(f"the store already has a run {run.run_id!r}; give the new run another id") from error

    def update_run(self, run_id: str, **changes: Unpack[RunChanges]) -> None:
        """Change the fields that are given, and leave the rest."""
        with self._database.write() as connection:
            run = read_run(connection, run_id, lock=True).model_copy(update=changes)
            connection.execute(update(runs).where(runs.c.run_id == run_id).values(run_row(run)))

    def annotate(self, run_id: str, annotation: Annotation) -> None:
        """Keep a person's annotation of a trial in place of an earlier one; an empty one removes it.

        Keys in its texts are masked.

        Raises:
            DataError: there is no such run.
        """
        masked = {name: redact(getattr(annotation, name)) for name in ("note", "correction")}
        with self._database.write() as connection:
            run = read_run(connection, run_id, lock=True)
            kept = {one.key: one for one in (*run.annotations, annotation.model_copy(update=masked))}
            annotations = tuple(one for one in kept.values() if not one.is_empty)
            row = run_row(run.model_copy(update={"annotations": annotations}))
            connection.execute(update(runs).where(runs.c.run_id == run_id).values(row))

    def run(self, run_id: str) -> Run:
        """Return the run with this id."""
        with self._database.read() as connection:
            return read_run(connection, run_id)

    def find_run(self, named: str) -> Run:
        """Return the run with this id, or with the one id that begins so; the latest run for ``latest``."""
        begun = runs.c.run_id.startswith(named, autoescape=True)
        order = (runs.c.run_id == named).desc(), runs.c.created.desc(), runs.c.run_id.desc()
        chosen = select(runs).order_by(*order).limit(MOST_NAMED + 1)
        with self._database.read() as connection:
            found = connection.execute(chosen if named == LATEST else chosen.where(begun)).all() if named else []
            if not found:
                raise no_run(connection, named)
        if len(found) > 1 and named not in (LATEST, found[0].run_id):
            ids = ", ".join(row.run_id for row in found[:MOST_NAMED])
            more = " …" if len(found) > MOST_NAMED else ""
            raise DataError(
                f"the ids of several runs begin with {named!r}: {ids}{more}; write more of the one you mean"
            )
        return decode_record(Run, found[0].record)

    def each_run(self, statuses: Collection[str] = ()) -> Iterator[Run]:
        """Yield every run, or only runs with some statuses, latest first."""
        query = select(runs.c.record).order_by(runs.c.created.desc(), runs.c.run_id.desc())
        chosen = query.where(runs.c.status.in_(statuses)) if statuses else query
        with self._database.read() as connection:
            for record in connection.scalars(chosen):
                yield decode_record(Run, record)

    def runs(self, limit: int | None = 100) -> list[Run]:
        """Return the latest runs, latest first; None for all."""
        return list(islice(self.each_run(), limit))

    def unfinished_run(self, config_digest: str) -> Run | None:
        """Return the latest run of this configuration that is running, interrupted or incomplete."""
        unfinished = (runs.c.config_digest == config_digest, runs.c.status != "finished")
        latest_first = select(runs.c.record).where(*unfinished).order_by(runs.c.created.desc(), runs.c.run_id.desc())
        with self._database.read() as connection:
            record = connection.scalar(latest_first.limit(1))
        return None if record is None else decode_record(Run, record)

    def discard_run(self, run_id: str) -> None:
        """Delete a run and all that belongs to it."""
        with self._database.write() as connection:
            read_run(connection, run_id)
            connection.execute(delete(runs).where(runs.c.run_id == run_id))
            delete_orphans(connection)

    def compact(self) -> None:
        """Give the space of deleted records back to the system.

        Raises:
            DataError: another process is using the store.
        """
        with self._database.explain_errors():
            compact(self._database.engine)

    def add_trial(self, run_id: str, result: TrialResult) -> None:
        """Commit an attempt of an ended trial, with its scores, its calls and their bodies.

        Secrets of this process's environment are masked in it.

        Raises:
            DataError: the run has this attempt (framework, query, repeat, attempt) already, or the store does not have
                the run.
        """
        self.add_trials(run_id, (result,))

    def add_trials(self, run_id: str, results: Sequence[TrialResult], *, masked: bool = False) -> None:
        """Commit ended attempts in this order and in one transaction. If one fails, none is committed.

        Secrets of this process's environment are masked in them.

        Args:
            masked: whether they have been masked already.

        Raises:
            DataError: as for ``add_trial``, for any of the attempts.
        """
        redaction = redaction_of(() if masked else secret_values())
        shown = [redaction.record(result) for result in results]
        try:
            with self._database.write() as connection:
                insert_trials(connection, run_id, shown)
        except IntegrityError as error:
            raise DataError(self._refusal(run_id, shown)) from error

    def add_scores(self, run_id: str, result: TrialResult, scores: Sequence[Score]) -> None:
        """Add scores to a committed attempt; existing scores of the same name are replaced.

        Secrets of this process's environment are masked in them.

        Raises:
            DataError: the store does not have the attempt.
        """
        masked = redaction_of(secret_values()).record(result.model_copy(update={"scores": tuple(scores)})).scores
        with self._database.write() as connection:
            add_scores(connection, run_id, result, masked)

    def each_attempt_summary(self, run_id: str, **columns: Any) -> list[AttemptSummary]:
        """Return a summary of each committed attempt, in order. This is cheaper than ``each_attempt``.

        Args:
            **columns: only the attempts with these column values; None matches any.
        """
        names = ("framework", "query_id", "repeat", "attempt", "status", "adapter_digest", "failure", "id")
        own = (trials.c[name] == value for name, value in columns.items() if value is not None)
        chosen = select(*(trials.c[name] for name in names)).where(trials.c.run_id == run_id, *own)
        with self._database.read() as connection:
            return [
                AttemptSummary(TrialKey(framework=framework, query_id=decode(query), repeat=repeat), *rest)
                for framework, query, repeat, *rest in connection.execute(chosen.order_by(trials.c.id))
            ]

    def count_measured(self, run_id: str) -> int:
        """Return how many trials of this run were measured."""
        return sum(one.status != "not measured" for one in counted_attempts(self.each_attempt_summary(run_id)))

    def each_attempt(self, run_id: str) -> Iterator[TrialResult]:
        """Yield every committed attempt with its bodies in the order they were added, read in parts."""
        every = select(trials.c.id).where(trials.c.run_id == run_id).order_by(trials.c.id)
        with self._database.read() as connection:
            yield from results_of(connection, connection.scalars(every).all())

    def add_selections(self, run_id: str, offers: Mapping[int | str, Sequence[ToolSpec]], most: int) -> bool:
        """Store the tools that queries of this run are offered, all or none; stored tools are not replaced.

        Returns:
            Whether all are kept; False if some may have been kept before.

        Args:
            most: the ``max_tools`` of the columns that the tools are for.
        """
        rows = []
        for query_id, tools in offers.items():
            found = [tool.model_dump() | ({"topped_up": True} if tool.topped_up else {}) for tool in tools]
            rows.append({"query_id": encode_id(query_id, most), "tools": found})
        return self._keep(selections, "tools", run_id, rows)

    def selections(self, run_id: str, queries: Sequence[int | str], most: int) -> dict[int | str, tuple[ToolSpec, ...]]:
        """Return the tools offered for queries of this run. Queries without stored tools are skipped.

        Args:
            most: the ``max_tools`` of the columns that the tools are for.
        """
        found: dict[int | str, tuple[ToolSpec, ...]] = {}
        for first in range(0, len(queries), IN_ONE):
            own = {encode_id(query_id, most): query_id for query_id in queries[first : first + IN_ONE]}
            of_queries = (selections.c.run_id == run_id, selections.c.query_id.in_(own))
            with self._database.read() as connection:
                rows = connection.execute(select(selections).where(*of_queries)).all()
                bodies = read_bodies(connection, select(selections.c.tools).where(*of_queries))
            tools = {digest: tuple(map(ToolSpec.model_validate, decode(body))) for digest, body in bodies.items()}
            found |= {own[row.query_id]: tools[row.tools] for row in rows}
        return found

    def add_gold_answer(self, run_id: str, answer: GoldAnswer) -> None:
        """Store the answers to the expected calls of a query; stored answers are not replaced.

        Secrets of this process's environment are masked in it.
        """
        shown = redaction_of(secret_values()).record(answer).model_dump()
        self._keep(gold_answers, "answer", run_id, [{"query_id": encode_id(answer.query_id), "answer": shown}])

    def gold_answers(self, run_id: str) -> dict[int | str, GoldAnswer]:
        """Return the answers to the expected calls of this run's queries, by the query's id."""
        with self._database.read() as connection:
            bodies = read_bodies(connection, select(gold_answers.c.answer).where(gold_answers.c.run_id == run_id))
        answers = (decode_record(GoldAnswer, text) for text in bodies.values())
        return {answer.query_id: answer for answer in answers}

    def _keep(self, table: Table, body: str, run_id: str, rows: Rows) -> bool:
        """Add rows about queries of a run, with one column stored as bodies; existing rows are kept."""
        bodies: Bodies = {}
        added = [row | {"run_id": run_id, body: add_body(bodies, encode(row[body]))} for row in rows]
        try:
            with self._database.write() as connection:
                insert_bodies(connection, bodies)
                return insert(connection, table, added, only_new=True)
        except IntegrityError as error:
            raise DataError(f"the store has no run {run_id!r}; create it before {table.name}") from error

    def _refusal(self, run_id: str, results: Sequence[TrialResult]) -> str:
        there = {(attempt.key, attempt.attempt) for attempt in self.each_attempt_summary(run_id)}
        for result in results:
            key = result.key
            if (key, result.attempt) in there:
                return (
                    f"run {run_id!r} already has attempt {result.attempt} of the trial of {key.framework} on task "
                    f"{key.query_id!r}, repeat {key.repeat}; an attempt is added only once"
                )
            there.add((key, result.attempt))
        return f"the store has no run {run_id!r}; create it before its trials"


@asynccontextmanager
async def hold_run(store: Store, digest: str, find: Callable[[], Run | None]) -> AsyncIterator[Run | None]:
    """Find the run that a command continues, and hold its lock; None if the command begins one.

    Args:
        digest: of the configuration that the command asks for.
        find: looks for the run in the store.

    Raises:
        UsageError: another process is at it.
    """
    with ExitStack() as locks:
        # Looked up under the locks: another process may be at this very run, which must not be discarded or doubled.
        locks.enter_context(store.lock(digest))
        found = await asyncio.to_thread(find)
        if found is not None:
            locks.enter_context(store.lock(found.run_id))
            # Read again: before it was locked, another process may have been at it.
            found = await asyncio.to_thread(store.run, found.run_id)
        yield found


def record_run(
    store: Store,
    found: Run | None,
    config: RunConfig,
    digest: str,
    *,
    tags: Iterable[str],
    note: str | None,
    own: RunChanges,
) -> Run:
    """Record that a command begins a run or continues an existing one, and return it.

    Args:
        tags, note: the user's words, which are added to the run's; None leaves the note.
        own: further fields.
    """
    known = found.tags if found else ()
    tags = tuple(dict.fromkeys((*known, *filter(None, map(str.strip, tags)))))
    note = redact(note if note is not None else found.note if found else "")
    changes: RunChanges = {**own, "config": config, "config_digest": digest, "tags": tags, "note": note}
    if found is None:
        run = new_run(config, digest).model_copy(update=dict(changes))
        store.create_run(run)
        return run
    changes["status"] = "running"
    store.update_run(found.run_id, **changes)
    return store.run(found.run_id)
