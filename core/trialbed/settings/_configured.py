"""The settings of ``bench run`` that a settings file and the environment give, for functions that run agents.

Commands read both with their options.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trialbed.errors import SettingsError
from trialbed.settings._declared import declared_settings
from trialbed.settings._files import SettingsFile, read_settings_file
from trialbed.suggestions import closest, did_you_mean

BESIDE_SETTINGS = ("fresh", "retry-failed", "extend", "allow-incomplete", "gold-answers", "yes", "env-dir")
"""Options of ``bench run`` beside its settings that functions know too."""

FOR_COMMANDS = ("fail-under", "fail-on-regression", "format", "json", "legend", "plugin")
"""Options of ``bench run`` for the command's output and exit code, and files of plugins: functions take objects."""

WITH_VARIABLES = {"yes": "TRIALBED_YES", "env_dir": "TRIALBED_ENV_DIR"}
"""Names of options beside the settings that the environment may give -> the variable."""


def configured_settings(start: Path) -> dict[str, tuple[Any, str]]:
    """Return the values of settings of ``bench run`` in the nearest settings file and in the environment, by name.

    Each is as it stands there, of a repeatable setting a list, and has its place, for errors. The environment comes
    first; ``FOR_COMMANDS`` are left out.

    Raises:
        SettingsError: the file is not one of settings, or has an option that ``bench run`` has not.
    """
    file = read_settings_file(start)
    return {**(_of_file(file) if file else {}), **dict(_of_environment(os.environ))}


def _of_file(file: SettingsFile) -> dict[str, tuple[Any, str]]:
    names = {option.lstrip("-"): item.name for item in declared_settings() for option in item.setting.option}
    names |= {option: option.replace("-", "_") for option in BESIDE_SETTINGS}
    found = {}
    for key, value in file.values.get("run", {}).items():
        option = key.replace("_", "-")
        if option in names:
            found[names[option]] = value, f"{file.path}: [run] {key}"
        elif option not in FOR_COMMANDS:
            close = closest(option, [*names, *FOR_COMMANDS])
            hint = did_you_mean(close) if close else "; see bench run --help"
            raise SettingsError(f"{file.path}: [run] has no option {key!r}{hint}")
    return found


def _of_environment(environment: Mapping[str, str]) -> Iterator[tuple[str, tuple[Any, str]]]:
    for item in declared_settings():
        if text := environment.get(item.variable):
            # Programs have spaces: several stand on lines of their own.
            several = text.splitlines() if item.name in ("commands", "mcp") else text.split()
            yield item.name, (several if item.repeatable else text, item.variable)
    for name, variable in WITH_VARIABLES.items():
        if text := environment.get(variable):
            yield name, (text, variable)
