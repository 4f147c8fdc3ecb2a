"""``bench verify``."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli._options import json_option, option

if TYPE_CHECKING:
    from trialbed.verification import Target, VerifyOptions

EPILOG = """\b
Examples:
  bench verify samples.jsonl --model gpt-4o-mini --base-url https://api.openai.com/v1
  bench verify samples.jsonl --model kimi-k2 --base-url URL --concurrency 30 --incremental
  bench verify samples.jsonl --model MODEL --base-url URL --extra-body '{"provider": {"only": ["NAME"]}}'
"""


@click.command("verify", epilog=EPILOG)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@option("-m", "--model", help="The model to ask for.")
@option("--base-url", metavar="URL", help="OpenAI-compatible endpoint, ending before /chat/completions.")
@click.option("--api-key", metavar="KEY", help="The endpoint's key; better left to OPENAI_API_KEY or .env.")
@option("--model-type", metavar="NAME", help="Model adapter to use. [default: the one that knows the model]")
@option("--temperature", type=float, help="Replaces the temperature of every request. [default: each line's own]")
@option(
    "--max-tokens", type=click.IntRange(min=1), help="Replaces max_tokens of every request. [default: each line's own]"
)
@option("--extra-body", metavar="JSON", default="{}", help="Object merged into every request, last.")
@option("-j", "--concurrency", type=click.IntRange(min=1), default=5, help="Requests under way at a time.")
@option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("results.jsonl"),
    help="Results, one line per case.",
)
@option(
    "--summary",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("summary.json"),
    help="Summary of the results.",
)
@option("--timeout", type=click.FloatRange(min=0, min_open=True), default=600.0, help="Seconds for one attempt.")
@option("--retries", type=click.IntRange(min=0), default=3, help="Attempts after the first.")
@option("--trials", type=click.IntRange(min=1), default=1, help="Times that every case is sent.")
@click.option("--incremental", is_flag=True, help="Keep the answers of --output, send what failed or is missing.")
@click.option("--fresh", is_flag=True, help="Discard what --output holds.")
@click.option("--use-raw-completions", is_flag=True, help="Use /completions; needs --tokenizer-model.")
@option("--tokenizer-model", metavar="NAME|DIR", help="Tokenizer whose chat template makes the prompts.")
@json_option
def command(file: Path, *, as_json: bool, **given: Any) -> int:
    """Verify how well a vendor's endpoint calls tools.

    FILE is a test set: one chat completion request per line. Every request is sent, and ends in exactly one
    outcome; the answers are kept as they come, so that none that was paid for is lost.
    """
    from trialbed.verification import TestSet, VerifyOptions

    options = VerifyOptions(
        trials=given["trials"],
        request_concurrency=given["concurrency"],
        timeout=given["timeout"],
        retries=given["retries"],
        incremental=given["incremental"],
        fresh=given["fresh"],
    )
    (summary,) = asyncio.run(_verify(TestSet(file), _target(given), options))
    if as_json:
        click.echo(json.dumps(summary, ensure_ascii=False, indent=2))
    return 0


async def _verify(cases: Any, target: Target, options: VerifyOptions) -> list[dict[str, Any]]:
    from trialbed.verification import Verification

    with cases:
        return await Verification(cases, [target], options, _Silent()).run()


class _Silent:
    def begin(self, target: Any, total: int, kept: int) -> None: ...
    def advance(self, target: Any, row: Any) -> None: ...
    def down(self, target: Any, left: int) -> None: ...


def _target(given: dict[str, Any]) -> Target:
    from trialbed.contracts import Vendor
    from trialbed.verification import RequestSettings, Target, load_adapter

    adapter_name, adapter = load_adapter(given["model_type"], given["model"])
    settings = RequestSettings(
        model=given["model"],
        temperature=given["temperature"],
        max_tokens=given["max_tokens"],
        extra_body=json.loads(given["extra_body"]),
        tokenizer=given["tokenizer_model"] if given["use_raw_completions"] else None,
    )
    return Target(
        name="vendor",
        vendor=Vendor(base_url=given["base_url"]),
        driver_name="",
        adapter=adapter,
        adapter_name=adapter_name,
        settings=settings,
        api_key=given["api_key"] or os.environ.get("OPENAI_API_KEY", ""),
        output=given["output"],
        summary=given["summary"],
    )
