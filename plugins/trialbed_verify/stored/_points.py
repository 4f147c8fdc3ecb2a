"""The dated points of vendors' histories: one for each stored verification."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from trialbed.store import StoreReader
from trialbed_verify.history import Point
from trialbed_verify.stored._files import result_files


def stored_points(reader: StoreReader, model: str, vendor: str, folder: Path) -> list[Point]:
    """The points of a vendor, by date.

    Args:
        folder: where results are written that are in no file any more.
    """
    return sorted(_points(reader, model, vendor, folder), key=lambda point: point.at)


def known_vendors(reader: StoreReader) -> list[tuple[str, str]]:
    """The models and vendors that have a history."""
    every = (endpoint for run in reader.runs() for endpoint in run.record.endpoints)
    return sorted({(endpoint.model, endpoint.vendor) for endpoint in every if endpoint.last_row_at})


def _points(reader: StoreReader, model: str, vendor: str, folder: Path) -> Iterator[Point]:
    for run in reader.runs():
        for endpoint in run.record.endpoints:
            if (endpoint.model, endpoint.vendor) == (model, vendor) and endpoint.last_row_at:
                (path,) = result_files(run, folder, [endpoint.label])
                name = f"{run.run_id}/{endpoint.label}" if path.parent == folder else ""
                yield Point(
                    at=endpoint.last_row_at,
                    model=model,
                    vendor=vendor,
                    results=str(path),
                    test_set=run.config.dataset_digest,
                    configuration=endpoint.configuration,
                    cases=len(run.config.query_ids),
                    trials=endpoint.trials,
                    success_rate=endpoint.success_rate,
                    schema_accuracy=endpoint.schema_accuracy,
                    name=name,
                )
