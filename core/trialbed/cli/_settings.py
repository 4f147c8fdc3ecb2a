"""Settings from outside of the command line: defaults of a settings file, and misspelt variables."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import click

from trialbed.cli._group import cli
from trialbed.errors import SettingsError
from trialbed.settings import SettingsFile, declared_settings
from trialbed.suggestions import closest, did_you_mean

PREFIX = "TRIALBED_"

OTHERS = """
ALLOW_HOST ALLOW_ORIGIN ANSWERS CONFIG CONTROL_TOKEN DATA_DIR ENVIRONMENT ENV_DIR EXTRA_BODY FAIL_ON_REGRESSION
FAIL_UNDER FROM HOST INDEX_DIR MANY MAX_ANSWER MAX_BODY MAX_PROTOCOL_ERRORS MCP_URL MEMORY_LIMIT METRICS MIN_F1
MIN_SUCCESS MODEL_TYPE ONLY OUTPUT_DIR PART PLUGIN PORT RATE_LIMIT REAL_KEY REAL_KEY_ENV REAL_TIMEOUT REAL_URL RETRIES
ROUNDS SERVER_TOKEN SIMULATOR SIMULATOR_KEY SIMULATOR_PROMPTS SIMULATOR_TIMEOUT STATE_DIR STREAM SUMMARY TIMES
TOKENIZER_MODEL TOOLS TOOLS_URL TRIALS UPSTREAM_KEY UPSTREAM_KEYS VENDOR_CONCURRENCY WEIGHTS_DIR WORKER WORKER_TRIALS
YES
"""
"""Trialbed's other variables, besides those of a run's settings, without the prefix."""

ALIKE = 0.8
"""The similarity of a misspelt name to the one that is meant: others may be a user's own, or a plugin's."""


def misspelt_variables(given: Iterable[str]) -> dict[str, str]:
    """Return the variables that look like misspelt ones of Trialbed, each with the right spelling."""
    known = {*OTHERS.split(), *(item.variable.removeprefix(PREFIX) for item in declared_settings())}
    names = {variable.removeprefix(PREFIX) for variable in given if variable.startswith(PREFIX)}
    found = {name: closest(name, known, cutoff=ALIKE) for name in sorted(names - known)}
    return {f"{PREFIX}{name}": f"{PREFIX}{close}" for name, close in found.items() if close}


def default_map(settings: SettingsFile) -> dict[str, Any]:
    """Return the file's values in click's form.

    Raises:
        SettingsError: a command or an option is unknown, or a value is not of the option's; names file and key.
    """
    return {command: _options(settings, command, values) for command, values in settings.values.items()}


def _options(settings: SettingsFile, command: str, values: dict[str, Any]) -> dict[str, Any]:
    context = click.Context(cli)
    found = cli.get_command(context, command)
    if found is None:
        names = ", ".join(cli.list_commands(context))
        close = closest(command, cli.list_commands(context))
        hint = did_you_mean(close) if close else f"; commands are {names}"
        raise SettingsError(f"{settings.path}: [{command}] is not a command{hint}")
    known = {name.lstrip("-").replace("-", "_"): option for option in found.params for name in option.opts}
    for key in values:
        if key.replace("-", "_") not in known:
            close = closest(key.replace("-", "_"), known)
            hint = did_you_mean(close.replace("_", "-")) if close else f"; see bench {command} --help"
            raise SettingsError(f"{settings.path}: [{command}] has no option {key!r}{hint}")
    return dict(_option(settings, f"[{command}] {key}", known[key.replace("-", "_")], values[key]) for key in values)


def _option(settings: SettingsFile, key: str, option: click.Parameter, value: Any) -> tuple[str, Any]:
    if option.multiple and not isinstance(value, list):
        value = [value]
    try:
        option.type_cast_value(click.Context(cli), value)
    except (click.BadParameter, TypeError) as error:
        raise SettingsError(f"{settings.path}: {key}: {getattr(error, 'message', error)}") from error
    return str(option.name), value
