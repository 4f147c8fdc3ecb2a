"""The command ``bench verify``, from its options to its report."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.formats import chosen_format, format_option
from trialbed.cli.options import (
    FILE,
    FOLDER,
    Finite,
    FiniteRange,
    SectionedCommand,
    json_option,
    option,
    plain_option,
    print_json,
)
from trialbed.cli.setting_options import setting_option
from trialbed.texts import number_of

if TYPE_CHECKING:
    from trialbed_verify.verification import RequestSettings, Target, TestSet, Verification, VerifyOptions

NO_KEY = "no-key"
"""Sent if no key is set, because a bearer token may not be empty."""

Given = dict[str, Any]

OTHERS = "Any other vendor gets the name as it is; `model_id` in its entry gives it another."
NONE = "No vendor driver is installed; install trialbed-vendors, which is in adapters/vendors of Trialbed's checkout."

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
    "How it is sent": ("request_concurrency", "vendor_concurrency", "timeout", "retries"),
    "Raw completions": ("use_raw_completions", "tokenizer_model", "trust_tokenizer_code"),
    "What is kept": ("summary", "output_dir", "incremental", "fresh", "tags", "note", "store", "rank_files"),
}
"""Options that few verifications need, under headings."""

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
@plain_option("--list-models", is_flag=True, help="List the models, with the names that vendors give them, and exit.")
@option("-m", "--model", help="Name of the model.")
@option("--base-url", metavar="URL", help="OpenAI-compatible endpoint, without /chat/completions.")
@plain_option("--api-key", metavar="KEY", envvar="OPENAI_API_KEY", help="Key for the endpoint; better kept in .env.")
@option("-c", "--config", type=READABLE, help="Models and vendors.")
@option("--model-type", metavar="NAME", help="Model adapter. [default: the one that recognises the model]")
@option("--temperature", type=Finite(), help="Override each request's own value.")
@option("--max-tokens", type=click.IntRange(min=1), help="Override each request's own value.")
@option(
    "--stream/--no-stream",
    default=None,
    help="Override each request's own value; with --config, requests without one are streamed.",
)
@option("--extra-body", metavar="JSON", default="{}", help="Object merged into every request, last.")
@option(
    "request_concurrency",
    "-j",
    "--concurrency",
    "--request-concurrency",
    type=click.IntRange(min=1),
    default=5,
    help="Concurrent requests to one vendor.",
)
@option("--vendor-concurrency", type=click.IntRange(min=1), default=1, help="Vendors to test at the same time.")
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
    outcome. Answers are saved as they arrive, so no paid answer is lost. With --config, vendors are compared with their
    model's baseline and ranked.
    """
    import asyncio

    from trialbed_verify.verification import TestSet

    form = chosen_format(given["form"], as_json=as_json)
    if given["list_models"] or given["list_suites"]:
        return _print_list(models=given["list_models"], as_json=form == "json")
    if given["write_test_set"]:
        return _write_test_set(given["suites"], given["write_test_set"])
    with chosen_test_set(file, given["suites"]) as path:
        options, targets = _options(given), _targets(given)
        with TestSet(path) as cases:
            _warn(cases, targets)
            try:
                summaries = asyncio.run(_verify(cases, targets, options))
            except asyncio.CancelledError:
                raise click.Abort from None
    return _report(summaries, targets, given, form)


async def _verify(cases: TestSet, targets: list[Target], options: VerifyOptions) -> list[dict[str, Any]]:
    from trialbed.cli.progress import cancel_on_terminate
    from trialbed_verify.verification import Verification
    from trialbed_verify.verification.progress import verify_progress

    with cancel_on_terminate(), verify_progress() as progress:
        verification = Verification(cases, targets, options, progress)
        summaries = await verification.run()
    for line in _follow_ups(verification):
        click.echo(line, err=True)
    return summaries


def _follow_ups(verification: Verification) -> Iterator[str]:
    """Yield the commands that show the run, and that write again the results files of other runs that it replaced."""
    from trialbed.cli.stored import show_command, typed_command
    from trialbed.settings import store_file

    if verification.run_id is None:
        return
    store = None if verification.options.store == store_file() else verification.options.store
    yield f"what was found, at any time: {show_command(verification.run_id, store=store)}"
    for run_id in dict.fromkeys(verification.replaced.values()):
        names = [str(path) for path, own in verification.replaced.items() if own == run_id]
        one = len(names) == 1
        again = typed_command("export", run_id if one else f"{run_id}/VENDOR", "--format", "results", store=store)
        named = names[0] if one else f"{len(names)} results files"
        yield f"replaced {named} of run {run_id}; `{again}` writes {'it' if one else 'each'} again"


def _report(summaries: list[dict[str, Any]], targets: list[Target], given: Given, form: str) -> int:
    from trialbed_verify.report import check_answers, print_report
    from trialbed_verify.rows import FileRows

    rows, comparisons = {(one.settings.model, one.name): FileRows(one.output) for one in targets}, None
    if given["config"]:
        from trialbed_verify.ranking import compare_and_rank, write_rank_files

        comparisons = compare_and_rank(rows, {one.settings.model: one.name for one in targets if one.is_baseline})
        if given["rank_files"] and comparisons["ranking"]:
            write_rank_files(comparisons["ranking"], given["rank_files"])
    print_report(form, summaries, comparisons, [*rows.values()])
    check_answers(summaries)
    return 0


def _targets(given: Given) -> list[Target]:
    """Return the targets of ``--base-url`` or ``--config``; error messages never show a key."""
    from urllib.parse import urlsplit

    from trialbed.wire.addresses import is_loopback
    from trialbed_verify.verification import config_targets, endpoint_target
    from trialbed_verify.verification.targets import checked_url

    _check_places(given)
    settings = _settings(given)
    if given["config"]:
        if given["model"] or given["base_url"]:
            raise click.UsageError("--config already names models and vendors; leave out --model and --base-url")
        return config_targets(given["config"], settings, given["model_type"], given["output_dir"])
    if not (given["model"] and given["base_url"]):
        raise click.UsageError("name one endpoint with --model and --base-url, or several with --config")
    url = checked_url(given["base_url"], "--base-url")
    # A server of this machine seldom asks for a key.
    key = given["api_key"] or (NO_KEY if is_loopback(urlsplit(url).hostname or "") else None)
    if not key:
        said = "the endpoint needs a key: put OPENAI_API_KEY into the environment or .env, or use --api-key"
        raise click.UsageError(f"{said} (any word will do if it does not check keys)")
    return [endpoint_target(url, key, settings, given["model_type"], given["output"], given["summary"])]


def _check_places(given: Given) -> None:
    """Reject output options that would be ignored, such as ``--output`` with ``--config``."""
    context = click.get_current_context()
    places = {"--base-url": ["--output", "--summary"], "--config": ["--output-dir"]}
    used, other = ("--config", "--base-url") if given["config"] else ("--base-url", "--config")
    for place in places[other]:
        if context.get_parameter_source(place[2:].replace("-", "_")) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{place} is for {other}; with {used}, results go to {' and '.join(places[used])}")


def _options(given: Given) -> VerifyOptions:
    from trialbed.settings import store_file
    from trialbed_verify.verification import VerifyOptions

    if given["incremental"] and given["fresh"]:
        raise click.UsageError("--incremental keeps existing results and --fresh discards them; choose one")
    named = {one.name: given[one.name] for one in fields(VerifyOptions)}
    return VerifyOptions(**named | {"store": given["store"] or store_file()})


def _warn(cases: TestSet, targets: Sequence[Target]) -> None:
    """Warn about faults of the test set, which are not the vendors', about names of models, and about keys."""
    from trialbed.settings import read_env_file
    from trialbed_verify.verification import doubtful_models
    from trialbed_verify.verification.targets import would_be_committed

    for doubt in doubtful_models(targets):
        click.echo(f"Warning: {doubt}", err=True)
    for line, reason in cases.bad_lines:
        click.echo(f"Warning: {cases.path}, line {line}: {reason}; the line is skipped", err=True)
    for index, name, fault in cases.faults:
        click.echo(f"Warning: {cases.path}, line {index}: the schema of {name} cannot be used: {fault}", err=True)
    path = read_env_file(Path.cwd())
    if path is not None and would_be_committed(path):
        click.echo(f"Warning: {path}: git does not ignore this file; add it to .gitignore to keep its keys", err=True)


def _settings(given: Given) -> RequestSettings:
    from trialbed_verify.verification import RequestSettings

    if given["use_raw_completions"] and not given["tokenizer_model"]:
        raise click.UsageError("--use-raw-completions needs --tokenizer-model")
    own = {name: given[name] for name in ("temperature", "max_tokens", "stream", "trust_tokenizer_code")}
    own |= {"model": given["model"] or "", "extra_body": _extra_body(given["extra_body"])}
    return RequestSettings(tokenizer=given["tokenizer_model"] if given["use_raw_completions"] else None, **own)


def _extra_body(text: str) -> dict[str, Any]:
    from trialbed.wire import finite_float, parse_json

    with suppress(ValueError):
        if isinstance(body := parse_json(text, finite_float), dict):
            return body
    raise click.BadParameter("must be a JSON object, with finite numbers", param_hint="--extra-body")


@contextmanager
def chosen_test_set(file: Path | None, suites: Sequence[str]) -> Iterator[Path]:
    """Yield the test set's file, which is temporary for suites."""
    if bool(file) == bool(suites):
        raise click.UsageError("name one test set: bench verify FILE, or --suite NAME (--list-suites)")
    if file:
        yield file
        return
    from trialbed.files import temporary_folder
    from trialbed_verify.suites import suite, write_test_set

    names = [suite(name).name for name in dict.fromkeys(suites)]
    with temporary_folder() as folder:
        path = folder / f"{'+'.join(names)}.jsonl"
        write_test_set(names, path)
        yield path


def _write_test_set(suites: Sequence[str], path: Path) -> int:
    if not suites:
        raise click.UsageError("--write-test-set writes the requests of --suite NAME; name one (--list-suites)")
    if path.exists() and path.stat().st_size:
        raise click.UsageError(f"{path} already exists; remove it, or name another file")
    from trialbed_verify.suites import write_test_set

    total = write_test_set(suites, path)
    click.echo(f"{path}: {number_of(total, 'request')}", err=True)
    return 0


def _print_list(*, models: bool, as_json: bool) -> int:
    from trialbed.views import Table, print_tables

    found: Mapping[str, Any]
    if models:
        from trialbed_verify.verification import unified_models

        found = unified_models()
        rows = [(model, vendor, own) for model, vendors in found.items() for vendor, own in vendors.items()]
        columns = ("model", "vendor", "the vendor's own name")
        table = Table.of("Unified names of models", columns, rows, [OTHERS if rows else NONE])
    else:
        from trialbed_verify.suites import SUITES

        found = {name: {"cases": one.size, "about": one.about} for name, one in SUITES.items()}
        sizes = [(name, str(one.size)) for name, one in SUITES.items()]
        notes = [f"{name}: {one.about}." for name, one in SUITES.items()]
        table = Table.of("Suites", ("suite", "cases"), sizes, notes)
    if as_json:
        print_json(found)
    else:
        print_tables([table], sys.stdout)
    return 0
