"""The results of a stored verification: rows, files of rows and summaries."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from trialbed.files import replacing
from trialbed.records import EndpointInfo
from trialbed.store import StoredRun, verified_cases
from trialbed.wire import dump_json
from trialbed_verify.verification.results._summaries import summary
from trialbed_verify.verification.results._tally import Tally
from trialbed_verify.verification.results._trials import Row, row_of


def stored_rows(run: StoredRun, label: str) -> Iterator[Row]:
    """The rows of an endpoint, in the order of the test set."""
    return map(row_of, verified_cases(run, label))


def stored_summaries(run: StoredRun) -> list[dict[str, Any]]:
    """A summary of each endpoint."""
    return [_summary(run, endpoint) for endpoint in run.record.endpoints]


def write_rows(run: StoredRun, label: str, path: Path, written: Callable[[str], None] | None = None) -> Tally:
    """Replace a results file, atomically, by one of an endpoint's rows, and count them.

    Args:
        written: is given the file's SHA-256 before it takes its place.

    Raises:
        OSError: the file cannot be written.
    """
    tally, digest = Tally(), hashlib.sha256()
    with replacing(path) as file:
        for row in stored_rows(run, label):
            line = dump_json(row) + b"\n"
            file.write(line)
            digest.update(line)
            tally.add(row)
        if written is not None:
            written(digest.hexdigest())
    return tally


def _summary(run: StoredRun, endpoint: EndpointInfo) -> dict[str, Any]:
    tally = Tally()
    for row in stored_rows(run, endpoint.label):
        tally.add(row)
    return summary(endpoint, tally)
