"""``bench serve``."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.options import FiniteRange, SectionedCommand, option, plain_option
from trialbed.cli.setting_options import (
    DriverOrFile,
    api_key_env_option,
    base_url_option,
    endpoint_patience_option,
    model_retries_option,
    plugin_option,
    response_cache_option,
    setting_option,
)
from trialbed.errors import UsageError

if TYPE_CHECKING:
    from trialbed.settings import RunSettings

EPILOG = """\b
Examples:
  bench serve
  bench serve --real-url http://localhost:9000/rapidapi --simulator llm --simulator-model gpt-4o-mini
  bench serve --simulator none --read-only
  bench serve --port 0 --dataset stabletoolbench:G1_instruction
  bench serve --base-url https://api.openai.com/v1
  bench serve --port 0 --faults status:429,none
  bench serve --port 0 --faults lmstudio-830
"""

SECTIONS = {
    "Models": ("api_key_env", "user_model", "endpoint_key_env", "model_retries", "endpoint_patience", "rpm", "tpm"),
    "Simulators": ("simulator_model", "simulator_prompt", "simulator_timeout", "max_helper_requests"),
    "Real APIs": ("real_url", "real_key_env", "real_timeout"),
    "The response cache": ("response_cache", "read_only"),
    "A server for others": ("allow_hosts", "max_body", "max_answer", "plugins"),
}
"""Options under headings; all others come first."""


@click.command("serve", cls=SectionedCommand, sections=SECTIONS, epilog=EPILOG)
@option("--host", default="127.0.0.1", help="Address to listen on; beyond loopback TRIALBED_SERVER_TOKEN must be set.")
@option("--port", type=click.IntRange(0, 65535), default=8080, help="Port to listen on, 0 for any.")
@base_url_option
@api_key_env_option
@setting_option("endpoint_key_env")
@setting_option("user_model")
@model_retries_option
@endpoint_patience_option
@setting_option("rpm")
@setting_option("tpm")
@response_cache_option
@option(
    "-d",
    "--dataset",
    "datasets",
    type=DriverOrFile("datasets"),
    multiple=True,
    default=("mini",),
    help="Dataset whose tools to serve; repeatable.",
)
@option(
    "--simulator",
    type=DriverOrFile("simulators"),
    metavar="NAME|FILE.py:NAME",
    help="Simulator for all tools. [default: each dataset's own]",
)
@setting_option("simulator_model")
@setting_option("max_helper_requests")
@option(
    "--simulator-prompt",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="File with the system prompt for the simulators' model. [default: Trialbed's]",
)
@option(
    "--simulator-timeout",
    type=FiniteRange(min=0, min_open=True),
    default=30.0,
    help="Seconds that a simulator has for one answer.",
)
@option("--real-url", metavar="URL", help="Endpoint of ToolBench's protocol that calls the real APIs.")
@option(
    "--real-key-env",
    metavar="VARIABLE",
    default="TOOLBENCH_KEY",
    help="Environment variable (or line of .env) that holds the key of --real-url.",
)
@option("--real-timeout", type=FiniteRange(min=0, min_open=True), default=30.0, help="Seconds for one real call.")
@plain_option("--read-only", is_flag=True, help="Keep no answer in the response cache.")
@option(
    "--allow-host",
    "allow_hosts",
    multiple=True,
    metavar="NAME",
    help="Host name, other than localhost, by which clients reach this server; repeatable.",
)
@option("--max-body", type=FiniteRange(min=0, min_open=True), default=16.0, metavar="MIB", help="Largest request.")
@option("--max-answer", type=FiniteRange(min=0, min_open=True), default=16.0, metavar="MIB", help="Largest answer.")
@plugin_option
@plain_option(
    "--pages", is_flag=True, help="Also show the runs of the store at /pages, with the expected calls and answers."
)
@plain_option(
    "--faults",
    metavar="SCRIPT",
    help="Plan of faults to inject (a file or JSON), or a script that simulates a faulty vendor.",
)
def command(
    api_key_env: str,
    base_url: str | None,
    response_cache: str | None,
    faults: str | None,
    real_key_env: str,
    endpoint_key_env: tuple[str, ...],
    **given: Any,
) -> None:
    """Run the virtual API and the gateway alone.

    StableToolBench clients can post to /virtual without changes, and `bench run --server-url URL` uses this server.
    Calls are answered from the response cache, else by the real API (--real-url), else by a simulator. With --faults,
    the server is an OpenAI-compatible endpoint without a model that fails as the script says.
    """
    from trialbed.records import read_fault_plan

    planned = faults is not None and is_fault_plan(faults)
    if faults is not None and not planned:
        _serve_faults(faults, given["host"], given["port"])
        return
    from trialbed.models import check_endpoint_keys, helper_endpoint
    from trialbed.settings import SERVER_TOKEN, RunSettings, completion_cache, key_variable, make_folder
    from trialbed.settings import response_cache as default_cache
    from trialbed.wire.addresses import split_address
    from trialbed_server import ServerOptions, serve
    from trialbed_server._options import MEBIBYTE

    if response_cache and given["read_only"]:
        _check_is_there(response_cache)
    cache = response_cache or default_cache()
    if "://" not in str(cache):
        make_folder(Path(cache).parent, "--response-cache")
    settings = RunSettings(base_url=base_url, api_key_env=api_key_env, endpoint_key_env=endpoint_key_env)
    check_endpoint_keys(settings)
    model, simulator_url = split_address(given["simulator_model"] or "")
    simulator_variable = None
    if simulator_url is not None:
        _check_model("--simulator-model", given["simulator_model"], settings)
        simulator_variable = key_variable(settings, simulator_url)
    given["simulator_model"] = model or None
    if given["user_model"]:
        _check_model("--user-model", given["user_model"], settings)
        user = helper_endpoint(given["user_model"], settings)
        if not user.base_url:
            raise UsageError(f"--user-model {user.model} needs an endpoint: give --base-url URL")
        given |= {"user_model": f"{user.model}@{user.base_url}", "upstream_keys": {user.base_url: user.api_key}}
    keys = {
        "upstream_key": api_key_env if base_url else None,
        "real_key": real_key_env if given["real_url"] else None,
        "simulator_key": simulator_variable,
    }
    given |= {name: int(given[name] * MEBIBYTE) for name in ("max_body", "max_answer")}
    given |= {name: (os.environ.get(variable) or None) if variable else None for name, variable in keys.items()}
    options = ServerOptions(
        cache=str(cache),
        completions=str(completion_cache()),
        upstream=base_url,
        faults=read_fault_plan(faults) if faults is not None else None,
        simulator_upstream=simulator_url,
        token=os.environ.get(SERVER_TOKEN) or None,
        **given,
    )
    serve(options)


def _check_model(option: str, named: str, settings: RunSettings) -> None:
    """Refuse a model with an invalid address or a password in it."""
    from trialbed.models import find_model

    try:
        find_model(named).describe(settings)
    except UsageError as error:
        raise UsageError(f"{option}: {error}") from error


def _check_is_there(cache: str) -> None:
    if "://" not in cache and not Path(cache).is_file():
        raise UsageError(
            f"--response-cache {cache}: there is no such file, and --read-only does not create one; correct the path, "
            "make it with `bench data import`, or leave out --read-only"
        )


def _serve_faults(script: str, host: str, port: int) -> None:
    from trialbed.settings import SERVER_TOKEN
    from trialbed_scripted import serve, serve_until_stopped
    from trialbed_server._options import check_token

    token = os.environ.get(SERVER_TOKEN)
    server = serve(faults=script, host=host, port=port, token=token, kept=0)
    check_token(token, host)
    serve_until_stopped(server)


def is_fault_plan(text: str) -> bool:
    """Return whether a file or a JSON text is a plan, with the key ``tools`` or ``model``."""
    from trialbed.files import read_bytes

    try:
        content = text if text.lstrip().startswith("{") else read_bytes(Path(text)).decode()
        found = json.loads(content)
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(found, dict) and not {"tools", "model"}.isdisjoint(found)
