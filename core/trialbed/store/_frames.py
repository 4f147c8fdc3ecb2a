"""The calls of runs as data frames of pandas."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from trialbed.errors import UsageError
from trialbed.installed import extra_command
from trialbed.records import TrialResult

TRIAL = ("run_id", "framework", "query_id", "repeat", "attempt")
"""The columns that identify a trial."""

CALL = (
    *("place", "started", "duration", "tool", "api", "offered", "arguments", "status", "error", "response"),
    *("provenance", "fault", "source"),
)
"""The columns of a call, as ``ApiCall`` has them; its place among the calls of its trial is counted from 0."""


def calls_frame(run_id: str, results: Iterable[TrialResult]) -> Any:
    """A ``pandas.DataFrame`` with a row for each call of an Api.

    Raises:
        UsageError: pandas is not installed.
    """
    rows = (
        {
            "run_id": run_id,
            **vars(result.key),
            "attempt": result.attempt,
            **vars(call),
            "tool": call.api.tool_name,
            "api": call.api.api_name,
            "place": place,
        }
        for result in results
        for place, call in enumerate(result.wire.api_calls)
    )
    return data_frame(rows, [*TRIAL, *CALL])


def data_frame(values: Any, columns: Sequence[str] | None = None) -> Any:
    """Return a ``pandas.DataFrame`` of columns by their names, or of rows with these columns.

    Raises:
        UsageError: pandas is not installed.
    """
    try:
        import pandas
    except ImportError as error:
        raise UsageError(
            f"a DataFrame needs pandas, which is not installed ({error}); install it with: {extra_command('dataframe')}"
        ) from error
    return pandas.DataFrame(values, columns=columns)
