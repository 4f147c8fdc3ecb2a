"""``bench rank``."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.formats import chosen_format, format_option, records_text
from trialbed.cli.options import FiniteRange, json_option, option, plain_option, print_json
from trialbed.cli.stored import store_option

if TYPE_CHECKING:
    from trialbed_verify.ranking import RankedVendor

EPILOG = """\b
Examples:
  bench rank table.csv
  bench rank official.jsonl a.jsonl b.jsonl --baseline official
  bench rank official=run1.jsonl acme=run2.jsonl --baseline official --model kimi-k2
  bench rank data/kimi-k2_a_results.jsonl data/kimi-k2_b_results.jsonl --format csv > ranks.csv
"""


@click.command("rank", epilog=EPILOG)
@click.argument("files", nargs=-1, required=True, metavar="TABLE.csv|FOLDER|[VENDOR=]FILE|RUN...")
@plain_option("--baseline", "baselines", multiple=True, metavar="VENDOR", help="Baseline of a model; one per model.")
@plain_option("--model", metavar="NAME", help="Name of the model, if the files give it different names.")
@plain_option("--force", is_flag=True, help="Rank by the common cases if requests or settings differ.")
@option(
    "--metrics",
    metavar="NAMES",
    help="Rank by these metrics, separated by commas. [default: all six, without times or tokens that a vendor lacks]",
)
@option("--min-success", type=FiniteRange(0, 1), default=0.9, help="Minimum success rate to be ranked.")
@option(
    "--max-protocol-errors",
    type=FiniteRange(0, 1),
    default=0.05,
    help="Maximum share of answers that break the protocol to be ranked.",
)
@option(
    "--min-f1",
    type=FiniteRange(0, 1),
    help="F1 below which a vendor is placed last. [default: the F1 of chance; for a table 0.5]",
)
@plain_option(
    "--rank-different",
    is_flag=True,
    help="Rank vendors by their figures even if they differ from the baseline in what callers rely on.",
)
@store_option
@format_option("table", "json", "csv", "markdown", "html")
@json_option
def command(files: tuple[str, ...], **given: Any) -> None:
    """Rank vendors by Inverse Rank Fusion over six metrics.

    Give verifications in the store (RUN, or RUN/VENDOR for one vendor), result files or a folder of them, a table with
    the columns model, vendor, success_rate, f1, tps, schema_accuracy, ttft_ms and avg_token, or the folder rank that
    Agent Vendor Verifier writes. Times or tokens that a vendor lacks do not count, and a note names them. A vendor that
    fails too often is not ranked. A vendor is placed last if it differs from the baseline in what callers rely on, or
    if its decisions are no better than chance. Ranks from results have intervals.
    """
    from trialbed.views import print_tables
    from trialbed_verify.ranking import Gates, rank
    from trialbed_verify.tables import ranking_records, ranking_tables

    form = chosen_format(given["form"], as_json=given["as_json"])
    names = ("min_success", "max_protocol_errors", "min_f1", "rank_different")
    metrics = _metrics(given["metrics"])
    ranking = rank(_vendors(files, given, metrics), Gates(**{name: given[name] for name in names}), metrics)
    tables = ranking_tables(ranking)
    if form == "table":
        print_tables(tables, sys.stdout)
    elif form == "json":
        print_json(ranking.as_json())
    else:
        click.echo(records_text(form, tables, ranking_records(ranking), "Ranks"), nl=False)


def _metrics(text: str | None) -> tuple[str, ...] | None:
    from trialbed_verify.ranking import METRICS

    names = None if text is None else tuple(name.strip() for name in text.split(","))
    if unknown := [name for name in names or () if name not in METRICS]:
        wanted = f"{unknown[0]!r} is not a metric; choose from {', '.join(METRICS)}"
        raise click.BadParameter(wanted, param_hint="--metrics")
    return names


def _vendors(files: tuple[str, ...], given: dict[str, Any], metrics: tuple[str, ...] | None) -> list[RankedVendor]:
    from trialbed_verify.comparer import vendor_files
    from trialbed_verify.ranking import METRICS, candidates, is_rank_folder, read_rank_files, read_table
    from trialbed_verify.stored import named_rows
    from trialbed_verify.table import read_tables

    place, found = Path(files[0]), []
    tables = [file for file in files if file.lower().endswith(".csv") or is_rank_folder(Path(file))]
    if tables and len(files) > 1:
        raise click.UsageError(f"{tables[0]} is a table; rank it alone, or rank result files")
    if tables and (given["baselines"] or given["model"] or given["force"]):
        raise click.UsageError("--baseline, --model and --force apply to result files only; leave them out for a table")
    if tables:
        return read_rank_files(place) if is_rank_folder(place) else read_table(place, metrics or tuple(METRICS))
    for name, sources in map(vendor_files, files):
        read = (one for rows in named_rows(sources, given["store"]) for one in read_tables(rows))
        found += [replace(one, vendor=name or one.vendor) for one in read]
    return candidates(found, given["baselines"], model=given["model"], force=given["force"])
