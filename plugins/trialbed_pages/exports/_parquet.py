"""The scores of a run as a Parquet file."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

from trialbed.errors import DataError, UsageError
from trialbed.installed import extra_command
from trialbed.store import StoredRun


def export_parquet(run: StoredRun, path: Path) -> int:
    """Write a row for each trial, with a column for each score, as ``StoredRun.to_frame`` has them.

    Query ids are numbers, or JSON where any of them is a text.

    Returns:
        the number of rows.

    Raises:
        UsageError: pandas or pyarrow is not installed.
        DataError: the file cannot be written.
    """
    try:
        import_module("pyarrow")  # asked for before the trials are read
    except ImportError as error:
        raise UsageError(
            f"Parquet needs pyarrow, which is not installed ({error}); install it with: {extra_command('parquet')}"
        ) from error
    frame = run.to_frame()
    if any(isinstance(query_id, str) for query_id in frame["query_id"]):
        frame["query_id"] = [json.dumps(query_id) for query_id in frame["query_id"]]
    try:
        frame.to_parquet(path, engine="pyarrow", index=False)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror or error}; name another file") from error
    return len(frame)
