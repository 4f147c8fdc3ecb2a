"""Defaults of options from a settings file."""

from __future__ import annotations

from typing import Any

import click

from trialbed.cli._group import cli
from trialbed.errors import SettingsError
from trialbed.settings import SettingsFile
from trialbed.suggestions import closest, did_you_mean


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
