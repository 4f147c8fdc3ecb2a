"""``bench verify``."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli._options import json_option, option

if TYPE_CHECKING:
    from trialbed.verification import RequestSettings, Target, TestSet, VerifyOptions

EPILOG = """\b
Examples:
  bench verify samples.jsonl --model gpt-4o-mini --base-url https://api.openai.com/v1
  bench verify samples.jsonl --model kimi-k2 --base-url URL --concurrency 30 --incremental
  bench verify samples.jsonl --model MODEL --base-url URL --extra-body '{"top_p": 0.9}'
  bench verify samples.jsonl --config config.yaml --vendor-concurrency 5 --request-concurrency 30
"""

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command("verify", epilog=EPILOG)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@option("-m", "--model", help="The model to ask for.")
@option("--base-url", metavar="URL", help="OpenAI-compatible endpoint, ending before /chat/completions.")
@click.option("--api-key", metavar="KEY", envvar="OPENAI_API_KEY", help="The endpoint's key; better kept in .env.")
@option("-c", "--config", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="Models and vendors.")
@option("--model-type", metavar="NAME", help="Model adapter. [default: the one that knows the model]")
@option("--temperature", type=float, help="Replaces every request's own. [default: each line's]")
@option("--max-tokens", type=click.IntRange(min=1), help="Replaces every request's own. [default: each line's]")
@option("--extra-body", metavar="JSON", default="{}", help="Object merged into every request, last.")
@option(
    "-j",
    "--concurrency",
    "--request-concurrency",
    type=click.IntRange(min=1),
    default=5,
    help="Requests under way at one vendor.",
)
@option("--vendor-concurrency", type=click.IntRange(min=1), default=1, help="Vendors at a time; more take turns.")
@option("-o", "--output", type=FILE, default=Path("results.jsonl"), help="Results, one line per case.")
@option("--summary", type=FILE, default=Path("summary.json"), help="Summary of the results.")
@option("--output-dir", type=FOLDER, default=Path("data"), help="Results and summaries of --config.")
@option("--timeout", type=click.FloatRange(min=0, min_open=True), default=600.0, help="Seconds for one attempt.")
@option("--retries", type=click.IntRange(min=0), default=3, help="Attempts after the first.")
@option("--trials", type=click.IntRange(min=1), default=1, help="Times that every case is sent.")
@click.option("--incremental", is_flag=True, help="Keep the answers there are, send what failed or is missing.")
@click.option("--fresh", is_flag=True, help="Discard the results there are.")
@click.option("--use-raw-completions", is_flag=True, help="Use /completions; needs --tokenizer-model.")
@option("--tokenizer-model", metavar="NAME|DIR", help="Tokenizer whose chat template makes the prompts.")
@json_option
def command(file: Path, *, as_json: bool, **given: Any) -> int:
    """Verify how well vendors' endpoints call tools.

    FILE is a test set: one chat completion request per line. Every request is sent to the endpoint of --base-url,
    or to every model and vendor of --config, and ends in exactly one outcome. Answers are kept as they come, so
    that none that was paid for is lost.
    """
    from trialbed.verification import TestSet

    cases = TestSet(file)
    targets = _targets(given)
    _warn(cases)
    options = _options(given, targets)
    try:
        summaries = asyncio.run(_verify(cases, targets, options))
    except asyncio.CancelledError:
        raise click.Abort from None
    _print(summaries, as_json=as_json)
    return 0 if any(summary["success_count"] for summary in summaries) else 3


def _targets(given: dict[str, Any]) -> list[Target]:
    from trialbed.verification import config_targets, endpoint_target

    if given["config"]:
        if given["model"] or given["base_url"]:
            raise click.UsageError("--config names models and vendors; leave --model and --base-url out")
        settings = _settings(given, "")
        return config_targets(given["config"], settings, given["model_type"], given["output_dir"])
    if not (given["model"] and given["base_url"]):
        raise click.UsageError("name an endpoint with --model and --base-url, or many with --config")
    settings = _settings(given, given["model"])
    key = given["api_key"]
    if not key:
        raise click.UsageError("the endpoint needs a key: put OPENAI_API_KEY into .env, or give --api-key")
    return [endpoint_target(given["base_url"], key, settings, given["model_type"], given["output"], given["summary"])]


def _settings(given: dict[str, Any], model: str) -> RequestSettings:
    from trialbed.verification import RequestSettings

    if given["use_raw_completions"] and not given["tokenizer_model"]:
        raise click.UsageError("--use-raw-completions needs --tokenizer-model")
    return RequestSettings(
        model=model,
        temperature=given["temperature"],
        max_tokens=given["max_tokens"],
        extra_body=_extra_body(given["extra_body"]),
        tokenizer=given["tokenizer_model"] if given["use_raw_completions"] else None,
    )


def _extra_body(text: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except ValueError as error:
        raise click.BadParameter(f"not JSON: {error}", param_hint="--extra-body") from error
    if not isinstance(body, dict):
        raise click.BadParameter("must be a JSON object", param_hint="--extra-body")
    return body


def _options(given: dict[str, Any], targets: list[Target]) -> VerifyOptions:
    from trialbed.verification import VerifyOptions

    if given["incremental"] and given["fresh"]:
        raise click.UsageError("--incremental keeps the results there are, --fresh discards them: choose one")
    incremental, fresh = given["incremental"], given["fresh"]
    held = [target.output for target in targets if target.output.exists() and target.output.stat().st_size]
    if held and not (incremental or fresh) and sys.stdin.isatty():
        answer = _ask(held)
        incremental, fresh = answer == "continue", answer == "discard"
    return VerifyOptions(
        trials=given["trials"],
        vendor_concurrency=given["vendor_concurrency"],
        request_concurrency=given["concurrency"],
        timeout=given["timeout"],
        retries=given["retries"],
        incremental=incremental,
        fresh=fresh,
    )


def _ask(held: list[Path]) -> str:
    """What to do about results there are; ends the command for ``stop``."""
    choice = click.Choice(["continue", "discard", "stop"])
    question = f"{', '.join(map(str, held))}: there are results of an earlier time"
    answer: str = click.prompt(question, type=choice, default="continue", err=True)
    if answer == "stop":
        raise click.Abort
    return answer


def _warn(cases: TestSet) -> None:
    for line in cases.bad_lines:
        click.echo(f"Warning: {cases.path}, line {line.index}: {line.reason}; it is no case", err=True)
    for index, name, fault in cases.faults():
        click.echo(f"Warning: {cases.path}, line {index}: the schema of {name} cannot be used: {fault}", err=True)


async def _verify(cases: TestSet, targets: list[Target], options: VerifyOptions) -> list[dict[str, Any]]:
    from trialbed.cli._signals import cancel_on_terminate
    from trialbed.cli._verify_progress import verify_progress
    from trialbed.verification import Verification

    with cancel_on_terminate(), verify_progress() as progress, cases:
        return await Verification(cases, targets, options, progress).run()


def _print(summaries: list[dict[str, Any]], *, as_json: bool) -> None:
    if as_json:
        whole = summaries[0] if len(summaries) == 1 else summaries
        click.echo(json.dumps(whole, ensure_ascii=False, indent=2))
        return
    from trialbed.drivers import load_driver

    load_driver("reporters", "verification")().report(summaries, sys.stdout)
