"""``bench compare``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.options import FILE, FiniteRange, json_option, option
from trialbed_verify.cli._options import csv_option, markdown_option, resamples_option, seed_option

if TYPE_CHECKING:
    from trialbed_verify.comparison import Results

EPILOG = """\b
Examples:
  bench compare official.jsonl vendor.jsonl
  bench compare --baseline official.jsonl --vendor vendor.jsonl --output comparison.json
  bench compare --baseline official.jsonl --vendor a.jsonl --vendor b.jsonl --markdown report.md
  bench compare --baseline monday.jsonl --baseline tuesday.jsonl --vendor vendor.jsonl
  bench compare --baseline official.jsonl --vendor vendor.jsonl --fail-under f1=0.73 --fail-if different
"""

Paths = tuple[Path, ...]

FAILING = {"different": ("different",), "not-equivalent": ("different", "inconclusive")}
"""What --fail-if names -> the verdicts that it is about."""


@click.command("compare", epilog=EPILOG)
@click.argument("files", nargs=-1, type=FILE, metavar="[BASELINE VENDOR]")
@click.option(
    "--baseline",
    "baselines",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help="Results that the others are held against; repeatable for further trials of the same.",
)
@click.option("--vendor", "vendors", type=FILE, multiple=True, metavar="FILE", help="A vendor's results; repeatable.")
@click.option("-o", "--output", type=FILE, metavar="FILE", help="Write the comparison as JSON.")
@click.option("--force", is_flag=True, help="Compare the common cases of files whose requests or settings differ.")
@option(
    "--margin",
    type=FiniteRange(min=0, min_open=True, max=1, max_open=True),
    default=0.02,
    help="Difference in F1 that counts as none.",
)
@resamples_option
@seed_option
@markdown_option
@csv_option
@click.option("--fail-under", multiple=True, metavar="FIGURE=X", help="Exit with 1 if FIGURE is below X; repeatable.")
@click.option("--fail-if", type=click.Choice(list(FAILING)), help="Exit with 1 at this verdict.")
@json_option
def command(files: Paths, fail_under: tuple[str, ...], fail_if: str | None, **given: Any) -> int:
    """Compare vendors' results with those of a baseline.

    Whether a vendor calls tools where the baseline does (paired by content), how many requests it answers, whether
    its calls fit their schemas, its tokens and times: each figure with its interval. The verdict is whether its
    decisions are equivalent to the baseline's, different, or whether the data cannot tell; for that the baseline
    needs several trials per case, in one file or in several. Takes results of bench verify, of K2-style tools and
    of Agent Vendor Verifier.
    """
    from trialbed_verify.cli.compare._checks import failing, figure_thresholds
    from trialbed_verify.comparison import CompareOptions, as_trials, compare

    thresholds = figure_thresholds(fail_under)
    baselines, vendors = _sides(files, given["baselines"], given["vendors"])
    options = CompareOptions(given["margin"], given["resamples"], given["seed"], given["force"])
    documents = compare(as_trials(list(map(_read, baselines))), list(map(_read, vendors)), options)
    _write(documents, given)
    return 1 if failing(documents, thresholds, FAILING.get(fail_if or "", ())) else 0


def _sides(files: Paths, baselines: Paths, vendors: Paths) -> tuple[Paths, Paths]:
    """The baseline's files and the vendors'."""
    if files and (baselines or vendors):
        raise click.UsageError("name the files by --baseline and --vendor, or in this order without them; not both")
    if len(files) >= 2:
        return files[:1], files[1:]
    if not baselines or not vendors:
        raise click.UsageError("name the results of a baseline and of a vendor: --baseline FILE --vendor FILE")
    return baselines, vendors


def _read(path: Path) -> Results:
    from trialbed_verify.cli.compare._checks import refuse_run
    from trialbed_verify.comparison import read_one

    refuse_run(path)
    return read_one(path)


def _write(documents: list[dict[str, Any]], given: dict[str, Any]) -> None:
    import json

    from trialbed.files import write_text
    from trialbed.views import csv_text, markdown, print_tables
    from trialbed_verify.views import comparison_records, comparison_tables

    whole = documents[0] if len(documents) == 1 else documents
    text = json.dumps(whole, ensure_ascii=False, allow_nan=False, indent=2)
    if given["output"]:
        write_text(given["output"], f"{text}\n", "--output")
    if given["markdown"]:
        write_text(given["markdown"], markdown(comparison_tables(documents)), "--markdown")
    if given["csv"]:
        write_text(given["csv"], csv_text(comparison_records(documents)), "--csv")
    if given["as_json"]:
        click.echo(text)
    else:
        print_tables(comparison_tables(documents), sys.stdout)
