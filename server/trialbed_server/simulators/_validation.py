"""Whether arguments fit an Api."""

from __future__ import annotations

from itertools import islice
from typing import Any

from jsonschema import Draft202012Validator

from trialbed.records import Api

MAX_PROBLEMS = 5


def argument_problems(api: Api, arguments: dict[str, Any]) -> str:
    """What is wrong with the arguments, in one line; empty if they fit the Api's schema."""
    validator = Draft202012Validator(api.parameters_schema())
    found = sorted(validator.iter_errors(arguments), key=lambda error: (list(map(str, error.path)), error.message))
    return "; ".join(_text(list(error.path), error.message) for error in islice(found, MAX_PROBLEMS))


def _text(path: list[Any], message: str) -> str:
    return f"{'.'.join(map(str, path))}: {message}" if path else message
