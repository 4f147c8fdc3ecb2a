"""Turns the options of ``bench verify`` into targets, files and settings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from trialbed_verify.verification import RequestSettings, Target, TestSet, VerifyOptions

NO_KEY = "no-key"
"""Sent where no key is set: a bearer token may not be empty."""

Given = dict[str, Any]
"""The options by name."""


def chosen_targets(given: Given) -> list[Target]:
    """The target of ``--base-url``, or those of ``--config``.

    Raises:
        UsageError: options are missing or contradict each other. The message never shows a key.
    """
    from trialbed_verify.verification import config_targets, endpoint_target
    from trialbed_verify.verification.targets import checked_url

    _check_places(given)
    if given["config"]:
        if given["model"] or given["base_url"]:
            raise click.UsageError("--config already names models and vendors; leave out --model and --base-url")
        settings = _settings(given, "")
        return config_targets(given["config"], settings, given["model_type"], given["output_dir"])
    if not (given["model"] and given["base_url"]):
        raise click.UsageError("name one endpoint with --model and --base-url, or several with --config")
    url = checked_url(given["base_url"], "--base-url")
    key = given["api_key"] or _local_key(url)
    if not key:
        raise click.UsageError(
            "the endpoint needs a key: put OPENAI_API_KEY into the environment or .env, or use --api-key (any word "
            "will do if it does not check keys)"
        )
    settings = _settings(given, given["model"])
    return [endpoint_target(url, key, settings, given["model_type"], given["output"], given["summary"])]


def _check_places(given: Given) -> None:
    """Refuse the places of results that would not be used: of one endpoint where there are several, and the reverse."""
    if given["config"]:
        unused, kind = ["output", "summary"], "the endpoint of --base-url"
        use = "with --config, results and summaries go into the folder of --output-dir"
    else:
        unused, kind = ["output_dir"], "the vendors of --config"
        use = "results and the summary of one endpoint go to --output and --summary"
    context = click.get_current_context()
    for name in unused:
        if context.get_parameter_source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name.replace('_', '-')} is for {kind}; {use}")


def _local_key(base_url: str) -> str | None:
    """A key for a server of this machine, which seldom asks for one; None for any other."""
    from urllib.parse import urlsplit

    from trialbed.wire.addresses import is_loopback

    return NO_KEY if is_loopback(urlsplit(base_url).hostname or "") else None


def chosen_options(given: Given) -> VerifyOptions:
    """The options for sending cases."""
    from trialbed.settings import store_file
    from trialbed_verify.verification import VerifyOptions

    if given["incremental"] and given["fresh"]:
        raise click.UsageError("--incremental keeps existing results and --fresh discards them; choose one")
    same = ("trials", "vendor_concurrency", "timeout", "retries", "incremental", "fresh", "tags", "note")
    own = {name: given[name] for name in same}
    return VerifyOptions(**own, request_concurrency=given["concurrency"], store=given["store"] or store_file())


def warn(cases: TestSet, targets: Sequence[Target]) -> None:
    """Warn about faults of the test set, which are not the vendors', about names of models, and about keys."""
    from trialbed.settings import read_env_file
    from trialbed_verify.verification import doubtful_models
    from trialbed_verify.verification.targets import would_be_committed

    for doubt in doubtful_models(targets):
        click.echo(f"Warning: {doubt}", err=True)
    for line in cases.bad_lines:
        click.echo(f"Warning: {cases.path}, line {line.index}: {line.reason}; the line is skipped", err=True)
    for index, name, fault in cases.faults:
        click.echo(f"Warning: {cases.path}, line {index}: the schema of {name} cannot be used: {fault}", err=True)
    path = read_env_file(Path.cwd())
    if path is not None and would_be_committed(path):
        click.echo(f"Warning: {path}: git does not ignore this file; add it to .gitignore to keep its keys", err=True)


def _settings(given: Given, model: str) -> RequestSettings:
    from trialbed_verify.verification import RequestSettings

    if given["use_raw_completions"] and not given["tokenizer_model"]:
        raise click.UsageError("--use-raw-completions needs --tokenizer-model")
    if given["trust_tokenizer_code"] and not given["use_raw_completions"]:
        raise click.UsageError("--trust-tokenizer-code applies to --use-raw-completions only")
    own = {name: given[name] for name in ("temperature", "max_tokens", "stream", "trust_tokenizer_code")}
    tokenizer = given["tokenizer_model"] if given["use_raw_completions"] else None
    return RequestSettings(model=model, extra_body=_extra_body(given["extra_body"]), tokenizer=tokenizer, **own)


def _extra_body(text: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
        json.dumps(body, allow_nan=False)
    except ValueError as error:
        raise click.BadParameter(f"not JSON: {error}", param_hint="--extra-body") from error
    if not isinstance(body, dict):
        raise click.BadParameter("must be a JSON object", param_hint="--extra-body")
    return body
