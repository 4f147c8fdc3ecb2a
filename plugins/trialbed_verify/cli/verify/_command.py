"""``bench verify``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.formats import chosen_format, format_option
from trialbed.cli.options import FILE, FOLDER, Finite, FiniteRange, json_option, option, plain_option
from trialbed.cli.sections import SectionedCommand
from trialbed.cli.setting_options import setting_option

if TYPE_CHECKING:
    from trialbed_verify.verification import Target, TestSet, VerifyOptions

EPILOG = """\b
Examples:
  bench verify samples.jsonl --model gpt-4o-mini --base-url https://api.openai.com/v1
  bench verify samples.jsonl --model kimi-k2 --base-url URL --concurrency 30 --incremental
  bench verify samples.jsonl --model MODEL --base-url URL --extra-body '{"top_p": 0.9}'
  bench verify samples.jsonl --config config.yaml --vendor-concurrency 5 --request-concurrency 30
  bench verify samples.jsonl --config config.yaml --trials 5 --format markdown > report.md
  bench verify --suite triggering --suite constraints --config config.yaml
"""

SECTIONS = {
    "What is sent": ("list_suites", "write_test_set", "trials", "list_models"),
    "What is asked for": ("model_type", "temperature", "max_tokens", "stream", "extra_body"),
    "How it is sent": ("concurrency", "vendor_concurrency", "timeout", "retries"),
    "Raw completions": ("use_raw_completions", "tokenizer_model", "trust_tokenizer_code"),
    "What is kept and written": (
        "summary",
        "output_dir",
        "incremental",
        "fresh",
        "tags",
        "note",
        "store",
        "rank_files",
    ),
}
"""The options beside those that most verifications need, under headings."""

READABLE = click.Path(exists=True, dir_okay=False, path_type=Path)


@click.command("verify", cls=SectionedCommand, sections=SECTIONS, epilog=EPILOG)
@click.argument("file", type=READABLE, required=False)
@plain_option(
    "--suite",
    "suites",
    multiple=True,
    metavar="NAME",
    help="Send a suite that comes with Trialbed instead of FILE; repeatable.",
)
@plain_option("--list-suites", is_flag=True, help="List the suites and exit.")
@plain_option("--write-test-set", type=FILE, metavar="FILE", help="Write the requests of --suite to a file and exit.")
@plain_option("--list-models", is_flag=True, help="List unified names of models, with the vendors' own, and exit.")
@option("-m", "--model", help="Name of the model.")
@option("--base-url", metavar="URL", help="OpenAI-compatible endpoint, up to but without /chat/completions.")
@plain_option("--api-key", metavar="KEY", envvar="OPENAI_API_KEY", help="Key for the endpoint; better kept in .env.")
@option("-c", "--config", type=READABLE, help="Models and vendors.")
@option("--model-type", metavar="NAME", help="Model adapter. [default: the one that recognises the model]")
@option("--temperature", type=Finite(), help="Overrides each request's own value.")
@option("--max-tokens", type=click.IntRange(min=1), help="Overrides each request's own value.")
@option(
    "--stream/--no-stream",
    default=None,
    help="Overrides each request's own value; with --config, those that have none are streamed.",
)
@option("--extra-body", metavar="JSON", default="{}", help="Object merged into every request, last.")
@option(
    "-j",
    "--concurrency",
    "--request-concurrency",
    type=click.IntRange(min=1),
    default=5,
    help="Concurrent requests to one vendor.",
)
@option(
    "--vendor-concurrency",
    type=click.IntRange(min=1),
    default=1,
    help="Vendors at a time; others take turns.",
)
@option("-o", "--output", type=FILE, default=Path("results.jsonl"), help="Results file, one line per case.")
@option("--summary", type=FILE, default=Path("summary.json"), help="Summary file.")
@option("--output-dir", type=FOLDER, default=Path("data"), help="Folder for the results and summaries of --config.")
@option("--timeout", type=FiniteRange(min=0, min_open=True), default=600.0, help="Seconds for one attempt.")
@option("--retries", type=click.IntRange(min=0), default=3, help="Attempts after the first.")
@option(
    "--trials",
    type=click.IntRange(min=1),
    help="Number of times to send every case. [default: 2 to a baseline that others are compared with, 1 to others]",
)
@plain_option("--incremental", is_flag=True, help="Go on with the last verification into --output, finished or not.")
@plain_option("--fresh", is_flag=True, help="Discard an unfinished verification of this configuration and start over.")
@setting_option("tags")
@setting_option("note")
@setting_option("store")
@plain_option("--use-raw-completions", is_flag=True, help="Use /completions; needs --tokenizer-model.")
@option("--tokenizer-model", metavar="NAME|DIR", help="Tokenizer whose chat template renders the prompts.")
@plain_option("--trust-tokenizer-code", is_flag=True, help="Run the code that comes with the tokenizer.")
@plain_option("--rank-files", type=FOLDER, metavar="FOLDER", help="Write ranks as Agent Vendor Verifier does.")
@format_option("table", "json", "csv", "markdown", "html", "junit")
@json_option
def command(file: Path | None, *, as_json: bool, **given: Any) -> int:
    """Verify how well vendors' endpoints call tools.

    FILE is a test set with one chat completion request per line; --suite sends one that comes with Trialbed. Every
    request is sent to the endpoint of --base-url, or to every model and vendor of --config, and ends in exactly one
    outcome. Answers are saved as they arrive, so that no paid answer is lost. With --config, vendors are compared with
    their model's baseline and ranked.
    """
    from trialbed_verify.cli.verify import _lists
    from trialbed_verify.cli.verify._setup import chosen_options, chosen_targets, warn
    from trialbed_verify.cli.verify._test_sets import chosen_test_set, write_chosen
    from trialbed_verify.verification import TestSet

    form = chosen_format(given["form"], as_json=as_json)
    if given["list_models"] or given["list_suites"]:
        return _lists.print_list(models=given["list_models"], as_json=form == "json")
    if given["write_test_set"]:
        return write_chosen(given["suites"], given["write_test_set"])
    with chosen_test_set(file, given["suites"]) as path:
        options = chosen_options(given)
        targets = chosen_targets(given)
        cases = TestSet(path)
        warn(cases, targets)
        summaries = _send(cases, targets, options)
    return _report(summaries, targets, given, form)


def _send(cases: TestSet, targets: list[Target], options: VerifyOptions) -> list[dict[str, Any]]:
    import asyncio

    try:
        return asyncio.run(_verify(cases, targets, options))
    except asyncio.CancelledError:
        raise click.Abort from None


async def _verify(cases: TestSet, targets: list[Target], options: VerifyOptions) -> list[dict[str, Any]]:
    from trialbed.cli.signals import cancel_on_terminate
    from trialbed_verify.cli.verify._progress import verify_progress
    from trialbed_verify.verification import Verification

    with cancel_on_terminate(), verify_progress() as progress, cases:
        verification = Verification(cases, targets, options, progress)
        summaries = await verification.run()
    if verification.run_id is not None:
        from trialbed.cli.stored import show_command
        from trialbed.settings import store_file

        store = None if options.store == store_file() else options.store
        click.echo(f"what was found, at any time: {show_command(verification.run_id, store=store)}", err=True)
        for line in _replaced(verification.replaced, store):
            click.echo(line, err=True)
    return summaries


def _replaced(files: Mapping[Path, str], store: str | None) -> Iterator[str]:
    """Say of which runs results files were replaced, a line for each run, and how they are written again."""
    from trialbed.cli.stored import typed_command

    for run_id in dict.fromkeys(files.values()):
        names = [str(path) for path, own in files.items() if own == run_id]
        one = len(names) == 1
        again = typed_command("export", run_id if one else f"{run_id}/VENDOR", "--format", "results", store=store)
        named = names[0] if one else f"{len(names)} results files"
        yield f"replaced {named} of run {run_id}; `{again}` writes {'it' if one else 'each'} again"


def _report(summaries: list[dict[str, Any]], targets: list[Target], given: dict[str, Any], form: str) -> int:
    from trialbed_verify.report import check_answers, compared_targets, print_report
    from trialbed_verify.rows import FileRows

    comparisons = compared_targets(targets) if given["config"] else None
    if given["rank_files"] and comparisons and comparisons.ranking:
        from trialbed_verify.ranking import write_rank_files

        write_rank_files(comparisons.ranking, given["rank_files"])
    print_report(form, summaries, comparisons, [FileRows(target.output) for target in targets])
    check_answers(summaries)
    return 0
