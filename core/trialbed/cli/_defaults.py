"""Defaults of options from a settings file."""

from __future__ import annotations

from typing import Any

import click

from trialbed.cli._group import COMMANDS, cli
from trialbed.errors import SettingsError
from trialbed.settings import SettingsFile


def default_map(settings: SettingsFile) -> dict[str, Any]:
    """The file's values in click's form.

    Raises:
        SettingsError: a command or an option is unknown, or a value is not of the option's; names file and key.
    """
    return {command: _options(settings, command, values) for command, values in settings.values.items()}


def _options(settings: SettingsFile, command: str, values: dict[str, Any]) -> dict[str, Any]:
    if command not in COMMANDS:
        raise SettingsError(f"{settings.path}: [{command}] is no command; there are {', '.join(sorted(COMMANDS))}")
    found = cli.get_command(click.Context(cli), command)
    assert found is not None  # noqa: S101 - COMMANDS are built in
    known = {name.lstrip("-").replace("-", "_"): option for option in found.params for name in option.opts}
    for key in values:
        if key.replace("-", "_") not in known:
            raise SettingsError(f"{settings.path}: [{command}] has no option {key!r}; see bench {command} --help")
    return dict(_option(settings, f"[{command}] {key}", known[key.replace("-", "_")], values[key]) for key in values)


def _option(settings: SettingsFile, key: str, option: click.Parameter, value: Any) -> tuple[str, Any]:
    if option.multiple and not isinstance(value, list):
        value = [value]
    try:
        option.type_cast_value(click.Context(cli), value)
    except (click.BadParameter, TypeError) as error:
        raise SettingsError(f"{settings.path}: {key}: {getattr(error, 'message', error)}") from error
    return str(option.name), value
