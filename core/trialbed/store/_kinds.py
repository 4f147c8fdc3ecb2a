"""The subjects of a run that is named."""

from __future__ import annotations

from trialbed.errors import DataError, UsageError
from trialbed.records import RunKind
from trialbed.store._reader import StoredRun, open_store


def run_kind(name: str, store: str | None = None) -> RunKind | None:
    """The subjects of a stored run: frameworks or endpoints; None where the name is not one of a run.

    Args:
        name: its id or the beginning of it, or ``latest``; also with one of its subjects behind a slash.
    """
    try:
        with open_store(store) as reader:
            return reader.run(name.partition("/")[0]).record.kind
    except (DataError, UsageError):
        return None


def require_frameworks(run: StoredRun) -> StoredRun:
    """The run, whose subjects must be frameworks.

    Raises:
        UsageError: it is a verification.
    """
    if run.record.kind != "frameworks":
        raise UsageError(
            f"run {run.run_id} is a verification: it is about endpoints and not about frameworks. bench show, "
            "bench compare, bench rank and bench export take verifications"
        )
    return run
