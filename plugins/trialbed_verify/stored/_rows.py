"""The rows of stored verifications, for all that reads vendors' rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click

from trialbed.errors import UsageError
from trialbed.records import EndpointInfo
from trialbed.store import StoredRun, StoreReader, open_store, run_kind, verified_case, verified_cases
from trialbed.wire import dump_json
from trialbed_verify.rows import Body
from trialbed_verify.vendor_rows import FileRows, PlacedRow, VendorRows
from trialbed_verify.verification.results import row_of

UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


class StoredRows(VendorRows):
    """The rows of an endpoint of a run; a place is the line of the test set and the number of the trial.

    They are called RUN/VENDOR, and can be read as long as the store is open.
    """

    def __init__(self, run: StoredRun, endpoint: EndpointInfo) -> None:
        self.run = run
        self.endpoint = endpoint

    def __str__(self) -> str:
        return f"{self.run.run_id}/{self.endpoint.label}"

    @property
    def file_name(self) -> str:
        """The name of the file that was written, if one was."""
        if self.endpoint.exports:
            return Path(self.endpoint.results).name
        return f"{UNSAFE.sub('_', str(self))}_results.jsonl"

    def __iter__(self) -> Iterator[PlacedRow]:
        cases = verified_cases(self.run, self.endpoint.label)
        return (
            PlacedRow(number, place, row_of(case)) for number, (place, case) in enumerate(cases, 1) if case is not None
        )

    def row_at(self, place: Any) -> Body:
        """Return the row of a case and trial; empty if there is none."""
        case = verified_case(self.run, self.endpoint.label, place)
        return {} if case is None else row_of(case)

    def describe(self, place: Any) -> dict[str, Any]:
        """Return the run and vendor, the line and the trial."""
        return {"run": str(self), "line": place[0], "trial": place[1]}

    def is_baseline(self, _: str | None, /) -> bool:
        """Return whether the endpoint is the baseline of its model."""
        return self.endpoint.is_baseline

    def is_same(self, other: VendorRows) -> bool:
        """Return whether the others are of the same endpoint of the same run, or in a file that was written of it."""
        if isinstance(other, FileRows):
            return other.digest() in self.endpoint.exports
        return isinstance(other, StoredRows) and str(self) == str(other)


def result_lines(rows: Iterable[PlacedRow]) -> Iterator[bytes]:
    """Yield the lines of a results file."""
    return (dump_json(row) + b"\n" for _, _, row in rows)


def run_rows(run: StoredRun, labels: Iterable[str] | None = None) -> list[StoredRows]:
    """Return the rows of each endpoint of a run.

    Args:
        labels: of the endpoints; None for all, the baseline first.
    """
    known = {endpoint.label: endpoint for endpoint in run.record.endpoints}
    chosen = sorted(known, key=lambda label: not known[label].is_baseline) if labels is None else labels
    return [StoredRows(run, known[label]) for label in chosen]


def named_rows(names: Iterable[str], store: str | None) -> list[VendorRows]:
    """Return the rows that are meant: of files by their paths, and of stored verifications by their ids.

    Their store stays open until the command ends.

    Args:
        names: ``ID`` is all vendors of a run, its baseline first, and ``ID/VENDOR`` one of them.

    Raises:
        UsageError: a run has no such vendor.
    """
    found: list[VendorRows] = []
    reader: StoreReader | None = None
    for name in names:
        if Path(name).exists() or run_kind(name, store) != "endpoints":
            found.append(FileRows(Path(name)))
            continue
        reader = reader or click.get_current_context().with_resource(open_store(store))
        run_id, _, label = name.partition("/")
        run = reader.run(run_id)
        if label and label not in run.config.frameworks:
            raise UsageError(f"run {run.run_id} has no vendor {label}; it has {', '.join(run.config.frameworks)}")
        found += run_rows(run, [label] if label else None)
    return found
