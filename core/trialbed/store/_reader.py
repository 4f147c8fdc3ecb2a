"""Opens a store to read its runs."""

from __future__ import annotations

from collections.abc import Collection
from contextlib import AbstractContextManager
from itertools import islice

from trialbed.errors import DataError, UsageError
from trialbed.records import Run, RunKind, RunStatus
from trialbed.settings import store_file
from trialbed.store._database import is_held, open_database
from trialbed.store._store import Store, fits
from trialbed.store._stored import StoredRun

RECORDED: dict[RunStatus, tuple[RunStatus, ...]] = {"interrupted": ("running",)}
"""Status -> others that the records of such runs may have."""


def open_store(url_or_path: str | None = None) -> StoreReader:
    """Open a store to read its runs and trials; best in a ``with`` statement.

    Nothing is ever changed.
    Runs that are under way can be read: they show the trials that are committed when they are asked for.

    Args:
        url_or_path: a file or a SQLAlchemy URL, as ``bench run --store`` takes it; default: the store of the
            state folder, ``.trialbed/trialbed.db``.

    Raises:
        UsageError: the URL is malformed or its driver is not installed.
        DataError: there is no store, it is damaged, or another version of Trialbed wrote it.
    """
    return StoreReader(url_or_path or store_file())


def open_run(run_id: str = "latest", store: str | None = None) -> StoredRun:
    """A run of a store, with its trials; in a notebook, it shows itself.

    Args:
        run_id: its id or an unambiguous beginning of it; ``latest`` for the run that began last.
        store: a file or URL, as ``open_store`` takes it.

    Raises:
        UsageError, DataError: as ``open_store`` and ``StoreReader.run`` say.
    """
    return open_store(store).run(run_id)


class StoreReader(AbstractContextManager["StoreReader"]):
    """The runs of a store, as ``open_store`` returns it.

    Every method raises ``DataError`` for a database that is damaged, locked or out of reach.
    """

    def __init__(self, url_or_path: str) -> None:
        self._database = open_database(url_or_path, read_only=True)
        self._store = Store(self._database)

    @property
    def place(self) -> str:
        """The store's file, or its URL without the password."""
        return self._database.where

    def __exit__(self, *_: object) -> None:
        self._database.close()

    @property
    def mark(self) -> object:
        """A value that stays equal until something is written to the store; None if there is no cheap one.

        For a file it comes from the state of the file and of its log.
        """
        return self._store.mark

    def close(self) -> None:
        """Close every connection; records that were read before stay usable."""
        self._database.close()

    def runs(
        self,
        *,
        framework: str | None = None,
        model: str | None = None,
        dataset: str | None = None,
        status: RunStatus | None = None,
        tags: Collection[str] = (),
        limit: int | None = None,
    ) -> tuple[StoredRun, ...]:
        """Return the runs that fit, latest first.

        Args:
            framework: runs of this framework; ``langgraph`` fits ``langgraph==1.1.0`` too.
            model: runs of this model.
            dataset: runs of this dataset, as given to ``--dataset``, or of this test set.
            status: ``running``, ``interrupted``, ``incomplete`` or ``finished``, as ``StoredRun.status`` has it.
            tags: runs that have all of these.
            limit: this many at most; None for all.
        """
        found = (
            seen
            for run in self._store.each_run(() if status is None else {status, *RECORDED.get(status, ())})
            if fits(run.config, framework, model, dataset)
            if set(tags) <= set(run.tags)
            if (seen := self._with_current_status(run)).status == status or status is None
        )
        return tuple(StoredRun(self._store, run) for run in islice(found, limit))

    def run(self, run_id: str) -> StoredRun:
        """Return the run with this id.

        Args:
            run_id: its id or an unambiguous beginning of it; ``latest`` for the run that began last.

        Raises:
            DataError: the store has no such run, or several; lists them.
        """
        return StoredRun(self._store, self._with_current_status(self._store.find_run(run_id)))

    def _with_current_status(self, run: Run) -> Run:
        """Return the run with its current status.

        If its process was killed, the stored record still says ``running``.
        """
        if run.status != "running":
            return run
        with self._database.explain_errors():
            is_under_way = any(is_held(self._database.engine, name) for name in (run.config_digest, run.run_id))
        return run if is_under_way else run.model_copy(update={"status": "interrupted"})


def run_kind(name: str, store: str | None = None) -> RunKind | None:
    """Return the subjects of a stored run, frameworks or endpoints, or None if the store has no run of this name.

    Args:
        name: its id or the beginning of it, or ``latest``; also with one of its subjects behind a slash.
    """
    try:
        with open_store(store) as reader:
            return reader.run(name.partition("/")[0]).record.kind
    except (DataError, UsageError):
        return None


def require_frameworks(run: StoredRun) -> StoredRun:
    """Return the run, or raise if its subjects are not frameworks.

    Raises:
        UsageError: it is a verification.
    """
    if run.record.kind != "frameworks":
        raise UsageError(
            f"run {run.run_id} is a verification: it is about endpoints and not about frameworks. bench show, "
            "bench compare, bench rank, bench export and bench publish take verifications"
        )
    return run
