"""The Python types that a JSON Schema describes, for code that makes a schema of types again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from trialbed.texts import whole_texts
from trialbed.wire.json_schemas import part_at

TYPES: Mapping[Any, Any] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "array": list,
    "object": dict,
    "null": None,
}
"""Type in a JSON Schema -> type in Python."""

MOST = 1_000
"""Parts of a schema that are read; parts beyond may be anything."""

PLAIN = frozenset(("type", "title", "description", "default", "examples"))
"""Keywords of a schema that a type says all of."""


def simple_type(declared: Any) -> Any:
    """Return the type by the ``type`` of a schema, which may be a list with ``null`` in it."""
    kinds = [kind for kind in (declared if isinstance(declared, list) else [declared]) if kind != "null"]
    return TYPES.get(kinds[0], Any) if len(kinds) == 1 and isinstance(kinds[0], str) else Any


def type_of(schema: Any, root: Mapping[str, Any]) -> Any:
    """Return the type of the values that a schema allows, a part of the root.

    Choices are a ``Literal``, and lists have the type of their items. All else is a class with the
    schema, as pydantic reads it.
    """
    left = MOST

    def follow(part: Any, within: tuple[str, ...] = ()) -> Any:
        """Put the parts that a schema refers to in place of the references; anything fits a circle."""
        nonlocal left
        left -= 1
        if isinstance(part, list):
            return [follow(item, within) for item in part]
        if not isinstance(part, dict):
            return part
        if not isinstance(reference := part.get("$ref"), str):
            return {key: follow(inner, within) for key, inner in part.items() if not key.startswith("$")}
        return {} if reference in within or left < 0 else follow(part_at(root, reference) or {}, (*within, reference))

    return _type(whole_texts(follow(schema)))


def _type(schema: Any) -> Any:
    if not isinstance(schema, dict):
        return Any
    choices = schema.get("enum")
    if isinstance(choices, list) and choices and all(isinstance(choice, str | int | None) for choice in choices):
        return Literal[tuple(choices)]
    kind = simple_type(schema.get("type"))
    if kind is list and schema.keys() <= PLAIN | {"items"}:
        items = _type(schema.get("items"))
        return list if items is Any else list[items]  # type: ignore[valid-type] # made of a schema
    if schema.keys() <= PLAIN and not isinstance(schema.get("type"), list):
        return kind
    return type(kind.__name__ if kind in (dict, list) else "Value", (_Described,), {"kind": kind, "schema": schema})


class _Described:
    """A type with a given schema."""

    kind: ClassVar[Any]
    schema: ClassVar[dict[str, Any]]

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: Any, handler: Any) -> Any:
        return handler.generate_schema(cls.kind)

    @classmethod
    def __get_pydantic_json_schema__(cls, _core: Any, _handler: Any) -> dict[str, Any]:
        return dict(cls.schema)
