"""Arguments that scripted models make up."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

_SAMPLES: dict[Any, Any] = {"integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}, "null": None}


def argument_text(arguments: Any) -> str:
    """Arguments as a model sends them."""
    return json.dumps(arguments, ensure_ascii=False)


def minimal_arguments(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The required arguments: their default, example or first choice, else a sample of their type."""
    properties = schema.get("properties", {})
    return {name: _sample(properties.get(name, {})) for name in schema.get("required", ())}


def wrong_arguments(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
    """These arguments changed so that they violate the schema: one is missing, else of a wrong type.

    Where a schema allows every object, the result is a list.
    """
    from jsonschema import Draft202012Validator

    # The schema stays as it is, at the root: references in it start there.
    validator = Draft202012Validator(schema)
    return next(
        candidate
        for candidate in _candidates(arguments, schema)
        if not (isinstance(candidate, dict) and validator.is_valid(candidate))
    )


def _candidates(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[Any]:
    for missing in schema.get("required", ()):
        yield {name: value for name, value in arguments.items() if name != missing}
    for name in schema.get("properties", {}):
        for wrong in ({"unexpected": True}, ["unexpected"]):
            yield {**arguments, name: wrong}
    yield []


def _sample(schema: Any) -> Any:
    if not isinstance(schema, Mapping):
        return "sample"
    choices = [schema[key] for key in ("default", "example") if key in schema]
    choices += [values[0] for key in ("examples", "enum") if isinstance(values := schema.get(key), list) and values]
    kind = schema.get("type")
    return choices[0] if choices else _SAMPLES.get(kind if isinstance(kind, str) else None, "sample")
