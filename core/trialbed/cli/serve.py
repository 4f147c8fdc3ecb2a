"""``bench serve``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from trialbed.cli.options import option, plain_option
from trialbed.cli.setting_options import api_key_env_option, base_url_option, response_cache_option

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
    from trialbed.settings import make_folder
    from trialbed.settings import response_cache as default_cache

    cache = response_cache or default_cache()
    make_folder(cache.parent, "--response-cache")
    server = load_driver("components", "server")
    options = server.ServerOptions(
        cache=str(cache),
        upstream=base_url,
        upstream_key=os.environ.get(api_key_env) if base_url else None,
        token=os.environ.get("TRIALBED_SERVER_TOKEN"),
        **given,
    )
    server.serve(options)


def _serve_faults(script: str, host: str, port: int) -> None:
    from trialbed.drivers import load_driver

    server = load_driver("components", "server")
    server.serve_faults(server.FaultScript.read(script), host, port)
