"""Values that a schema forbids, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trialbed.wire.json_schemas import JsonSchema, schema_problems


def wrong_arguments(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> Any:
    """Change arguments so that they violate the schema: one is missing, else of a wrong type.

    Where a schema allows every object, the result is a list.

    Raises:
        UnusableSchema: it is not a schema.
    """
    # The schema stays as it is, at the root: references in it start there.
    checked = JsonSchema(schema)
    return next(
        candidate
        for candidate in _candidates(arguments, schema)
        if not (isinstance(candidate, dict) and checked.is_valid(candidate))
    )


def first_problem(schema: Any, value: Any, root: Any = None) -> str:
    """Say why and where a schema forbids a value; empty if it does not, or cannot be read.

    Args:
        root: what references in the schema start from; the schema itself by default.
    """
    problem = next(iter(schema_problems(schema, value, 1, root)), None)
    return "" if problem is None else f"{problem.place or 'the arguments'}: {problem.message}"


def _candidates(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[Any]:
    for missing in schema.get("required", ()):
        yield {name: value for name, value in arguments.items() if name != missing}
    for name in schema.get("properties", {}):
        for wrong in ({"unexpected": True}, ["unexpected"]):
            yield {**arguments, name: wrong}
    yield []
