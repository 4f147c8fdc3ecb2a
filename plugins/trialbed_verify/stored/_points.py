"""The dated points of vendors' histories: one for each stored verification."""

from __future__ import annotations

from collections.abc import Iterator

from trialbed.store import StoreReader
from trialbed_verify.history import Point
from trialbed_verify.stored._rows import run_rows


def stored_points(reader: StoreReader, model: str, vendor: str) -> list[Point]:
    """The points of a vendor, by date."""
    return sorted(_points(reader, model, vendor), key=lambda point: point.at)


def known_vendors(reader: StoreReader) -> list[tuple[str, str]]:
    """The models and vendors that have a history."""
    every = (endpoint for run in reader.runs() for endpoint in run.record.endpoints)
    return sorted({(endpoint.model, endpoint.vendor) for endpoint in every if endpoint.last_row_at})


def _points(reader: StoreReader, model: str, vendor: str) -> Iterator[Point]:
    for run in reader.runs():
        for rows in run_rows(run):
            endpoint = rows.endpoint
            if (endpoint.model, endpoint.vendor) == (model, vendor) and endpoint.last_row_at:
                yield Point(
                    at=endpoint.last_row_at,
                    model=model,
                    vendor=vendor,
                    source=rows,
                    test_set=run.config.dataset_digest,
                    configuration=endpoint.configuration,
                    cases=len(run.config.query_ids),
                    trials=endpoint.trials,
                    success_rate=endpoint.success_rate,
                    schema_accuracy=endpoint.schema_accuracy,
                )
