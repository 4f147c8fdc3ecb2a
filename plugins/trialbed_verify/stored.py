"""Read and show verifications in the store.

Core's commands and the pages load this as the component ``verification`` for runs with endpoints as subjects.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from trialbed.cli.stored import moment, seconds
from trialbed.errors import UsageError
from trialbed.store import StoredRun, StoreReader, open_store, run_kind
from trialbed.views import printable
from trialbed_verify.ranking import compare_and_rank
from trialbed_verify.report import print_report
from trialbed_verify.rows import FileRows, StoredRows, VendorRows
from trialbed_verify.summary import summary
from trialbed_verify.table import read_rows
from trialbed_verify.verification.row import row_lines


def run_rows(run: StoredRun, labels: Iterable[str] | None = None) -> list[StoredRows]:
    """Return the rows of a run's endpoints with these labels; by default of all, the baseline first."""
    known = {endpoint.label: endpoint for endpoint in run.record.endpoints}
    chosen = sorted(known, key=lambda label: not known[label].is_baseline) if labels is None else [*labels]
    if unknown := [label for label in chosen if label not in known]:
        raise UsageError(f"run {run.run_id} has no vendor {unknown[0]}; it has {', '.join(run.config.frameworks)}")
    return [StoredRows(run, known[label]) for label in chosen]


def named_rows(names: Iterable[str], store: str | None) -> list[VendorRows]:
    """Return the rows of files and stored verifications. The store stays open until the command ends.

    A name is a path, ``ID`` for all vendors of a run, its baseline first, or ``ID/VENDOR`` for one of them.
    """
    found: list[VendorRows] = []
    reader: StoreReader | None = None
    for name in names:
        if Path(name).exists() or run_kind(name, store) != "endpoints":
            found.append(FileRows(Path(name)))
            continue
        reader = reader or click.get_current_context().with_resource(open_store(store))
        run_id, _, label = name.partition("/")
        found += run_rows(reader.run(run_id), [label] if label else None)
    return found


def show_run(run: StoredRun, form: str) -> None:
    """Print the name of a verification and the report that ``bench verify`` printed."""
    sources, comparisons = run_rows(run, run.config.frameworks), comparisons_of(run)
    summaries = [summary(own.endpoint, next(iter(read_rows(own, compared=False)), None)) for own in sources]
    if form == "table":
        click.echo(_about(run))
    print_report(form, summaries, comparisons, sources, {"run": run.record.model_dump(mode="json")})


def page_parts(run: StoredRun) -> Sequence[Any]:
    """Return the tables, plots and examples of a verification's page."""
    from trialbed_verify.pages import verification_page

    return verification_page(run_rows(run, run.config.frameworks), comparisons_of(run))


def lines(run: StoredRun, label: str | None) -> Iterator[bytes]:
    """Return the lines of a verification's results files, of all endpoints or of one."""
    if run.record.kind != "endpoints":
        raise UsageError(f"run {run.run_id} is about frameworks, and has no results of vendors")
    chosen = run_rows(run, run.config.frameworks if label is None else [label])
    return (line for rows in chosen for line in row_lines(run, rows.endpoint.label))


def comparisons_of(run: StoredRun) -> dict[str, Any] | None:
    """Return the comparisons and ranks of a run's vendors; None for a single endpoint."""
    rows = {(one.model, one.vendor): StoredRows(run, one) for one in run.record.endpoints}
    baselines = {one.model: one.vendor for one in run.record.endpoints if one.is_baseline}
    return compare_and_rank(rows, baselines) if len(rows) > 1 or baselines else None


def _about(run: StoredRun) -> str:
    took = f", took {seconds(run.overall_time)}" if run.overall_time else ""
    began = f"{run.run_id}: {run.status}, began {moment(run.created_at)} UTC{took}"
    about = {"run": began, "tags": ", ".join(run.tags), "note": run.note}
    return "".join(f"{printable(f'{name:<6}{text}')}\n" for name, text in about.items() if text)
