"""Verifications in the store: their rows, their results files, their report, and the parts of their page.

Core's commands and the pages find this as the component ``verification``, and ask it about runs whose subjects are
endpoints.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from trialbed.cli.options import print_json
from trialbed.cli.stored import moment, seconds
from trialbed.errors import UsageError
from trialbed.records import EndpointInfo
from trialbed.store import StoredRun, StoreReader, open_store, run_kind, verified_case, verified_cases
from trialbed.suggestions import closest
from trialbed.views import printable
from trialbed_verify.documents import as_document
from trialbed_verify.ranking import VerifiedRows, VerifiedVendors, compare_and_rank
from trialbed_verify.report import print_report
from trialbed_verify.rows import Body
from trialbed_verify.summary import summary
from trialbed_verify.table import read_rows
from trialbed_verify.vendor_rows import FileRows, PlacedRow, VendorRows
from trialbed_verify.verification.row import row_lines, row_of

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
        cases = enumerate(verified_cases(self.run, self.endpoint.label), 1)
        return (PlacedRow(number, place, row_of(case)) for number, (place, case) in cases)

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

    def provenance(self, _: str | None, /) -> Body:
        """Return the endpoint's."""
        return self.endpoint.provenance

    def is_same(self, other: VendorRows) -> bool:
        """Return whether the others are of the same endpoint of the same run, or in a file that was written of it."""
        if isinstance(other, FileRows):
            return other.digest() in self.endpoint.exports
        return isinstance(other, StoredRows) and str(self) == str(other)


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


def show_run(run: StoredRun, form: str) -> None:
    """Print a verification: its name, and the report that ``bench verify`` printed.

    Args:
        form: a choice of ``--format``.
    """
    sources = run_rows(run, run.config.frameworks)
    comparisons = comparisons_of(run)
    summaries = [summary(own.endpoint, next(iter(read_rows(own, compared=False)), None)) for own in sources]
    if form == "json":
        document = {"run": run.record.model_dump(mode="json"), "summaries": summaries}
        document |= as_document(comparisons) if comparisons else {}
        print_json(document)
        return
    if form == "table":
        for line in _about(run):
            click.echo(printable(line))
        click.echo()
    print_report(form, summaries, comparisons, sources)


def page_parts(run: StoredRun) -> Sequence[Any]:
    """Return the parts of a verification's page: tables, plots and examples."""
    from trialbed_verify.pages import verification_page

    return verification_page(run_rows(run, run.config.frameworks), comparisons_of(run))


def lines(run: StoredRun, label: str | None) -> Iterator[bytes]:
    """The lines of a verification's results files, of all endpoints or of one.

    Raises:
        UsageError: the run is not a verification, or lacks this vendor.
    """
    if run.record.kind != "endpoints":
        raise UsageError(f"run {run.run_id} is about frameworks, and has no results of vendors")
    labels = run.config.frameworks if label is None else (label,)
    if not set(labels) <= set(run.config.frameworks):
        close = closest(str(label), run.config.frameworks)
        hint = f"; did you mean {close!r}? It" if close else "; it"
        raise UsageError(f"run {run.run_id} has no vendor {label}{hint} has {', '.join(run.config.frameworks)}")
    return (line for own in labels for line in row_lines(run, own))


def comparisons_of(run: StoredRun) -> VerifiedVendors | None:
    """Return the comparisons and ranks of a run's vendors; None for a single endpoint."""
    endpoints = run.record.endpoints
    if len(endpoints) == 1 and not endpoints[0].is_baseline:
        return None
    return compare_and_rank(
        [VerifiedRows(one.model, one.vendor, StoredRows(run, one), one.is_baseline) for one in endpoints]
    )


def _about(run: StoredRun) -> Iterator[str]:
    took = f", took {seconds(run.overall_time)}" if run.overall_time else ""
    yield f"run   {run.run_id}: {run.status}, began {moment(run.created_at)} UTC{took}"
    if run.tags:
        yield f"tags  {', '.join(run.tags)}"
    if run.note:
        yield f"note  {run.note}"
