"""Arguments that scripted models make up."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

_SAMPLES: dict[Any, Any] = {"integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}, "null": None}
_LEAST: dict[Any, Any] = {"integer": 0, "number": 0, "boolean": False, "array": [], "object": {}, "null": None}


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


def sample_values(schema: Any) -> Iterator[Any]:
    """Values that a schema suggests, the best first; whether they are valid is for the caller to see."""
    yield from _values(schema, _of_type)


def least_values(schema: Any) -> Iterator[Any]:
    """As ``sample_values``, but where the schema suggests none, the least that its type has: empty, zero, false."""
    yield from _values(schema, _least_of_type)


def _values(schema: Any, of_type: Callable[[str | None, Mapping[str, Any]], Iterator[Any]]) -> Iterator[Any]:
    if not isinstance(schema, Mapping):
        yield from of_type(None, {})
        return
    yield from (schema[key] for key in ("default", "example", "const") if key in schema)
    yield from (values[0] for key in ("examples", "enum") if isinstance(values := schema.get(key), list) and values)
    for key in ("anyOf", "oneOf"):
        for choice in schema.get(key) or ():
            yield from _values(choice, of_type)
    kinds = schema.get("type")
    for kind in kinds if isinstance(kinds, list) else [kinds]:
        yield from of_type(kind if isinstance(kind, str) else None, schema)


def first_problem(schema: Any, value: Any, root: Any = None) -> str:
    """What is wrong with a value, and where; empty if nothing is, or if the schema cannot be read.

    Args:
        root: what references in the schema start from; the schema itself by default.
    """
    from jsonschema import Draft202012Validator

    validator = Draft202012Validator(schema if root is None else root)
    try:
        error = next(iter(validator.evolve(schema=schema).iter_errors(value)), None)
    except Exception:  # noqa: BLE001 - a schema that is none, or points to what is not there, forbids nothing
        return ""
    if error is None:
        return ""
    path = error.json_path.removeprefix("$").lstrip(".")
    return f"{path or 'the arguments'}: {error.message}"


def _of_type(kind: str | None, schema: Mapping[str, Any]) -> Iterator[Any]:
    yield _SAMPLES.get(kind, "sample")
    if kind in ("integer", "number"):
        yield from (schema[key] for key in ("minimum", "maximum", "multipleOf") if key in schema)
    elif kind == "string":
        yield "s" * schema.get("minLength", 1)
    elif kind == "array":
        yield [_sample(schema.get("items", {}))] * schema.get("minItems", 1)
    elif kind == "object":
        yield minimal_arguments(schema)


def _least_of_type(kind: str | None, schema: Mapping[str, Any]) -> Iterator[Any]:
    yield _LEAST.get(kind, "")
    yield from _of_type(kind, schema)


def _sample(schema: Any) -> Any:
    samples = list(sample_values(schema))
    return next((value for value in samples if not first_problem(schema, value)), samples[0])
