"""A stored verification as ``bench show`` prints it, and as its page shows it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import click

from trialbed.cli.options import print_json
from trialbed.cli.stored import moment, seconds
from trialbed.errors import UsageError
from trialbed.store import StoredRun
from trialbed.suggestions import closest
from trialbed.views import printable
from trialbed_verify.documents import as_document
from trialbed_verify.ranking import VerifiedRows, VerifiedVendors, compare_and_rank
from trialbed_verify.report import VerifyReport
from trialbed_verify.stored._rows import StoredRows, result_lines, run_rows
from trialbed_verify.verification.results import stored_summaries


def show_run(run: StoredRun, form: str) -> None:
    """Print a verification: its name, and the report that ``bench verify`` printed.

    Args:
        form: a choice of ``--format``.
    """
    sources = run_rows(run, run.config.frameworks)
    comparisons = comparisons_of(run)
    report = VerifyReport(stored_summaries(run), comparisons)
    if form == "json":
        document = {"run": run.record.model_dump(mode="json"), "summaries": as_document(report.summaries)}
        document |= as_document(comparisons) if comparisons else {}
        print_json(document)
        return
    if form == "table":
        for line in _about(run):
            click.echo(printable(line))
        click.echo()
    report.print(form, sources)


def page_parts(run: StoredRun) -> Sequence[Any]:
    """Return the parts of a verification's page: tables, plots and examples."""
    from trialbed_verify.pages import verification_parts

    return verification_parts(run_rows(run, run.config.frameworks), comparisons_of(run))


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
    return (line for rows in run_rows(run, labels) for line in result_lines(rows))


def comparisons_of(run: StoredRun) -> VerifiedVendors | None:
    """Return the comparisons and ranks of a run's vendors; None for a single endpoint."""
    endpoints = run.record.endpoints
    if len(endpoints) == 1 and not endpoints[0].is_baseline:
        return None
    return compare_and_rank(
        [VerifiedRows(one.model, one.vendor, StoredRows(run, one), one.is_baseline, one.load_of) for one in endpoints]
    )


def _about(run: StoredRun) -> Iterator[str]:
    took = f", took {seconds(run.overall_time)}" if run.overall_time else ""
    yield f"run   {run.run_id}: {run.status}, began {moment(run.created_at)} UTC{took}"
    if run.tags:
        yield f"tags  {', '.join(run.tags)}"
    if run.note:
        yield f"note  {run.note}"
