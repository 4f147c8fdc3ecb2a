"""``bench serve``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from trialbed.cli.options import FiniteRange, option, plain_option
from trialbed.cli.setting_options import (
    api_key_env_option,
    base_url_option,
    endpoint_patience_option,
    model_retries_option,
    response_cache_option,
    setting_option,
)

TOKEN_VARIABLE = "TRIALBED_SERVER_TOKEN"  # noqa: S105 - the variable's name, not a token
EPILOG = """\b
Examples:
  bench serve
  bench serve --port 0 --dataset stabletoolbench:G1_instruction
  bench serve --base-url https://api.openai.com/v1
  bench serve --port 0 --faults status:429,none
"""


@click.command("serve", epilog=EPILOG)
@option("--host", default="127.0.0.1", help="Address to listen on; beyond loopback TRIALBED_SERVER_TOKEN must be set.")
@option("--port", type=click.IntRange(0, 65535), default=8080, help="Port to listen on, 0 for any.")
@base_url_option
@api_key_env_option
@model_retries_option
@endpoint_patience_option
@response_cache_option
@option(
    "-d",
    "--dataset",
    "datasets",
    multiple=True,
    default=("mini",),
    help="Dataset whose Apis to serve; repeatable.",
)
@option("--simulator", metavar="NAME", help="Simulator for all Apis. [default: each dataset's own]")
@setting_option("simulator_model")
@setting_option("max_helper_requests")
@setting_option("max_helper_tokens")
@option(
    "--allow-host",
    "allow_hosts",
    multiple=True,
    metavar="NAME",
    help="Name of this server that requests may be for, beside localhost; repeatable.",
)
@option(
    "--allow-origin",
    "allow_origins",
    multiple=True,
    metavar="ORIGIN",
    help="Origin of web pages that may send requests, such as https://example.org; repeatable.",
)
@option(
    "--trial-expiry",
    type=FiniteRange(min=0, min_open=True),
    default=600.0,
    help="Seconds without a request after which a trial is closed whose opener is gone.",
)
@plain_option("--faults", metavar="SCRIPT", help="Simulate a faulty vendor instead: a file, JSON, or names.")
def command(
    api_key_env: str, base_url: str | None, response_cache: Path | None, faults: str | None, **given: Any
) -> None:
    """Run the virtual API and the gateway alone.

    StableToolBench clients can post to /virtual without changes, and `bench run --server-url URL` uses this server.
    With --faults, it is an OpenAI-compatible endpoint without a model that fails as the script says.
    """
    if faults is not None:
        _serve_faults(faults, given["host"], given["port"])
        return
    from trialbed.drivers import load_driver
    from trialbed.settings import completion_cache, make_folder
    from trialbed.settings import response_cache as default_cache

    cache = response_cache or default_cache()
    make_folder(cache.parent, "--response-cache")
    server = load_driver("components", "server")
    options = server.ServerOptions(
        cache=str(cache),
        completions=str(completion_cache()),
        upstream=base_url,
        upstream_key=os.environ.get(api_key_env) if base_url else None,
        token=os.environ.get(TOKEN_VARIABLE) or None,
        **given,
    )
    server.serve(options)


def _serve_faults(script: str, host: str, port: int) -> None:
    from trialbed.drivers import load_driver

    server = load_driver("components", "server")
    server.serve_faults(server.FaultScript.read(script), host, port, os.environ.get(TOKEN_VARIABLE))
