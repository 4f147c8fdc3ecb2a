"""The settings of a run that are about its judge, as options and as their values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from trialbed.cli.options import Decorated
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


def setting_options(names: Sequence[str] = JUDGE_SETTINGS) -> Callable[[Decorated], Decorated]:
    """Give a command the options of settings."""

    def decorate(command: Decorated) -> Decorated:
        for name in reversed(names):
            command = setting_option(name)(command)
        return command

    return decorate


def settings_of(given: Mapping[str, Any], names: Iterable[str] = JUDGE_SETTINGS) -> RunSettings:
    """Return the settings of these names that the options of a command give."""
    from trialbed.settings import RunSettings

    found: dict[str, Any] = {name: value for name in names if (value := given.get(name)) is not None}
    return RunSettings(**found)
