"""The settings of a run as keyword arguments of Python functions."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import fields
from typing import Any, get_type_hints

from pydantic import BaseModel, TypeAdapter, ValidationError

from trialbed.engine._plan import RunOptions
from trialbed.errors import UsageError
from trialbed.settings import declared_settings
from trialbed.suggestions import closest, did_you_mean


def read_keywords(given: Mapping[str, Any], caller: str, without: Collection[str]) -> dict[str, Any]:
    """Return the settings that a function was given by keyword, each as the options of a run have it.

    A list, or a single value, stands for the tuple of a setting that is repeatable; a record or a mapping for its JSON;
    text for a path.

    Args:
        caller: the function, named in errors.
        without: settings that it has parameters of its own for.

    Raises:
        UsageError: a name is not that of a setting, or a value cannot be one; says what can.
    """
    known = {field.name for field in fields(RunOptions)} - set(without)
    hints = get_type_hints(RunOptions, include_extras=True)
    repeatable = {setting.name for setting in declared_settings() if setting.repeatable}
    found = {}
    for name, value in given.items():
        if name not in known:
            close = did_you_mean(closest(name, known))
            raise UsageError(f"{caller}: unknown setting {name!r}{close} Known are {', '.join(sorted(known))}")
        try:
            found[name] = TypeAdapter(hints[name]).validate_python(_plain(value, repeatable=name in repeatable))
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]["msg"]
            raise UsageError(f"{caller}: {name}={value!r:.80}: {problem}") from error
    return found


def _plain(value: Any, *, repeatable: bool) -> Any:
    if repeatable:
        return tuple(map(str, [value] if isinstance(value, (str, int)) else value))
    if isinstance(value, BaseModel):
        return value.model_dump_json()
    return json.dumps(value) if isinstance(value, dict) and all(isinstance(name, str) for name in value) else value
