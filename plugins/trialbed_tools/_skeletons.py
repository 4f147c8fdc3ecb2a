"""Skeletons of answers, which the template simulator fills: values whose leaves name types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DEEPEST, MOST_LEAVES, MOST_CHOICES = 6, 80, 20
"""Levels, leaves, and values of an enumeration, of one skeleton."""

ITEMS = 2
"""Entries of a list."""

WORDS = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "NoneType"}

FORMATS: Mapping[str, list[str]] = {
    "date": ["2026-03-14", "2026-05-02", "2026-08-21", "2026-11-09"],
    "date-time": ["2026-03-14T09:26:53Z", "2026-05-02T17:40:11Z", "2026-08-21T06:05:37Z", "2026-11-09T22:18:04Z"],
    "time": ["06:05:37Z", "09:26:53Z", "17:40:11Z", "22:18:04Z"],
}
"""Format of a text -> texts that have it."""


class Skeletons:
    """Makes one skeleton."""

    def __init__(self) -> None:
        self._leaves = 0

    def of_schema(self, schema: Mapping[str, Any], depth: int = 0) -> Any:
        """Return the skeleton of the values that fit a schema without references."""
        schema = _merge(schema)
        if "const" in schema:
            return _choices([schema["const"]])
        if isinstance(schema.get("enum"), list) and schema["enum"]:
            return _choices(schema["enum"][:MOST_CHOICES])
        kind = _kind(schema)
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            items = schema.get("items")
            return (
                [] if depth >= DEEPEST else _list(self.of_schema(items if isinstance(items, dict) else {}, depth + 1))
            )
        self._leaves += 1
        known = FORMATS.get(str(schema.get("format"))) if kind == "string" else None
        return _choices(known) if known else WORDS.get(kind, "str")

    def of_value(self, value: Any, depth: int = 0) -> Any:
        """Return the skeleton of the values that are like an example."""
        if isinstance(value, dict):
            return {} if depth >= DEEPEST else {name: self.of_value(part, depth + 1) for name, part in self._few(value)}
        if isinstance(value, list):
            return _list(self.of_value(value[0], depth + 1)) if value and depth < DEEPEST else []
        self._leaves += 1
        kinds = {bool: "bool", int: "int", float: "float", type(None): "NoneType"}
        return kinds.get(type(value), "str")

    def _object(self, schema: Mapping[str, Any], depth: int) -> Any:
        properties = schema.get("properties")
        if depth >= DEEPEST or not isinstance(properties, dict):
            return {}
        named = ((name, part if isinstance(part, dict) else {}) for name, part in self._few(properties))
        return {name: self.of_schema(part, depth + 1) for name, part in named}

    def _few(self, parts: Mapping[str, Any]) -> list[tuple[str, Any]]:
        return list(parts.items())[: max(1, MOST_LEAVES - self._leaves)]


def _list(item: Any) -> list[Any]:
    if isinstance(item, dict) and "_one_of" not in item:
        return [{**item, "_list_length": ITEMS}]
    return [item] if item in ([], {}) else [item] * (1 if isinstance(item, list) else ITEMS)


def _choices(values: list[Any]) -> Any:
    return {"_one_of": values}


def _merge(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a schema without alternatives: the first of them, and all parts of ``allOf`` together."""
    merged = dict(schema)
    for part in [part for part in schema.get("allOf") or () if isinstance(part, dict)]:
        found = _merge(part)
        merged = {**found, **merged}
        if isinstance(found.get("properties"), dict):
            own = merged.get("properties")
            merged["properties"] = {**found["properties"], **(own if isinstance(own, dict) else {})}
    for name in ("oneOf", "anyOf"):
        for part in [part for part in schema.get(name) or () if isinstance(part, dict)]:
            if part.get("type") != "null":
                return {
                    **_merge(part),
                    **{key: value for key, value in merged.items() if key not in ("oneOf", "anyOf")},
                }
    return merged


def _kind(schema: Mapping[str, Any]) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = next((one for one in kind if one != "null"), "null")
    if isinstance(kind, str):
        return kind
    return "object" if "properties" in schema else "array" if "items" in schema else "string"
