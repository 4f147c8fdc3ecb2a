"""Settings from outside of the command line: defaults of a settings file, and variables that nothing reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import click

from trialbed.cli._group import cli
from trialbed.errors import SettingsError
from trialbed.settings import SettingsFile
from trialbed.suggestions import closest, did_you_mean

PREFIX = "TRIALBED_"

OF_TESTS = "TRIALBED_TEST_"
"""The beginning of variables of Trialbed's own tests, in which commands run."""

NOT_OF_OPTIONS = """
CONTROL_TOKEN DATA_DIR ENV_DIR INDEX_DIR MCP_URL MEMORY_LIMIT REAL_KEY SERVER_TOKEN SIMULATOR_KEY STATE_DIR TOOLS_URL
UPSTREAM_KEY UPSTREAM_KEYS WEIGHTS_DIR WORKER WORKER_TRIALS
"""
"""The variables that no option has, without the prefix."""

OF_OPTIONS = """
ALLOW_HOST ALLOW_ORIGIN ANSWERS CONFIG ENVIRONMENT EXTRA_BODY FAIL_ON_REGRESSION FAIL_UNDER FROM HOST
MANY MAX_ANSWER MAX_BODY MAX_PROTOCOL_ERRORS METRICS MIN_F1 MIN_SUCCESS MODEL_TYPE ONLY OUTPUT_DIR PART PLUGIN PORT
RATE_LIMIT REAL_KEY_ENV REAL_TIMEOUT REAL_URL RETRIES ROUNDS SIMULATOR SIMULATOR_PROMPTS SIMULATOR_TIMEOUT STREAM
SUMMARY TIMES TOKENIZER_MODEL TOOLS TRIALS VENDOR_CONCURRENCY YES
"""
"""Those that Trialbed's own commands have beside those of a run's settings, without the prefix."""

OF_KEYS = ("KEY", "TOKEN")
"""The ends of names that users give to variables of their own, for ``--api-key-env`` and options like it."""

SIMILARITY = 0.8
"""That of a misspelt name to the one that is meant, where the name may be a user's own."""

LIKE = 0.6
"""That of any other name."""


def unknown_variables(given: Iterable[str], name: str, group: click.Group) -> Mapping[str, str | None]:
    """Return the variables that nothing reads, each with the one that is meant, or None where none is like it.

    Args:
        given: names of variables that are set.
        name: of the command that is asked for, one of whose variables is meant rather than another.
        group: all commands, which are imported where a variable is none of Trialbed's own.
    """
    others = {f"{PREFIX}{own}" for own in NOT_OF_OPTIONS.split()}
    known = others | own_variables()
    unknown = sorted(
        variable for variable in {*given} - known if variable.startswith(PREFIX) and not variable.startswith(OF_TESTS)
    )
    if not unknown:
        return {}
    context = click.Context(group)
    known = others | {own for other in group.list_commands(context) for own in _variables(group, context, other)}
    nearest = others | set(_variables(group, context, name))
    found = {variable: _closest_variable(variable, nearest, known) for variable in unknown if variable not in known}
    return {variable: meant for variable, meant in found.items() if meant or not variable.endswith(OF_KEYS)}


def own_variables() -> set[str]:
    """Return those of all options of Trialbed's own commands, none of which is imported where only these are set."""
    from trialbed.settings import declared_settings

    return {*(item.variable for item in declared_settings()), *(f"{PREFIX}{own}" for own in OF_OPTIONS.split())}


def _closest_variable(variable: str, *known: Iterable[str]) -> str | None:
    """Return the most similar variable, of the first of these that have one."""
    cutoff = SIMILARITY if variable.endswith(OF_KEYS) else LIKE
    words = ({other.removeprefix(PREFIX) for other in names if other.startswith(PREFIX)} for names in known)
    found = (closest(variable.removeprefix(PREFIX), own, cutoff=cutoff) for own in words)
    return next((f"{PREFIX}{close}" for close in found if close), None)


def _variables(group: click.Group, context: click.Context, name: str) -> Iterator[str]:
    """Yield the variables of a command's options, and of those below it."""
    from trialbed.errors import DriverError

    try:
        command = group.get_command(context, name)
    except DriverError:  # a command that cannot be loaded is reported where it is asked for
        return
    for parameter in command.params if command else ():
        if isinstance(parameter.envvar, str):
            yield parameter.envvar
    if isinstance(command, click.Group):
        below = click.Context(command)
        for own in command.list_commands(below):
            yield from _variables(command, below, own)


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
