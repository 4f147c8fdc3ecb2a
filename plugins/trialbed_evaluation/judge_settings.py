"""The settings of a run that are about its judge, as options."""

from __future__ import annotations

from collections.abc import Sequence

import click

from trialbed.cli.setting_options import setting_option

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


def option_list(names: Sequence[str]) -> list[click.Option]:
    """The options of these settings, for a command that is put together from options of several parts."""
    holder = click.Command("holder")
    for name in names:
        setting_option(name)(holder)
    return [parameter for parameter in holder.params if isinstance(parameter, click.Option)]
