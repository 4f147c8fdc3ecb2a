"""The settings of a run that are about its judge, as options and as their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import click

from trialbed.cli.setting_options import setting_option

if TYPE_CHECKING:
    from trialbed.settings import RunSettings

JUDGE_SETTINGS = (
    "judge",
    "judge_votes",
    "judge_model",
    "judge_prompts",
    "base_url",
    "api_key_env",
    "endpoint_key_env",
    "max_helper_requests",
    "helper_timeout",
    "completions",
    "concurrency",
)
"""The settings of a run that are about its judge."""


def option_list(settings: Iterable[str], *others: Callable[[click.Command], click.Command]) -> list[click.Option]:
    """Return the options of settings, and of other decorators, for a command that is put together of parts."""
    holder = click.Command("holder")
    for name in settings:
        setting_option(name)(holder)
    for decorate in others:
        decorate(holder)
    return [parameter for parameter in holder.params if isinstance(parameter, click.Option)]


def settings_of(given: Mapping[str, Any], names: Iterable[str] = JUDGE_SETTINGS) -> RunSettings:
    """Return the settings of these names that the options of a command give."""
    from trialbed.settings import RunSettings

    found: dict[str, Any] = {name: value for name in names if (value := given.get(name)) is not None}
    return RunSettings(**found)
