"""The settings of a run that are about its judge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trialbed.settings import RunSettings

JUDGE_SETTINGS = (
    *("judge", "judge_votes", "judge_model", "judge_prompts"),
    *("base_url", "api_key_env", "endpoint_key_env"),
    *("max_helper_requests", "helper_timeout", "completions", "concurrency"),
)
"""The settings of a run that are about its judge."""


def settings_of(given: Mapping[str, Any], names: Iterable[str] = JUDGE_SETTINGS) -> RunSettings:
    """Return the settings of these names that the options of a command give."""
    from trialbed.settings import RunSettings

    found: dict[str, Any] = {name: value for name in names if (value := given.get(name)) is not None}
    return RunSettings(**found)
