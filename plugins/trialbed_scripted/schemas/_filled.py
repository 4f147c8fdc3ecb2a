"""Values that a schema allows and that carry a text, such as a structured answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from trialbed.wire.json_schemas import JsonSchema, UnusableSchema
from trialbed_scripted.schemas._values import DEEPEST, MOST, Schema, SchemaValues, list_at, valid_json

ANSWERS = ("answer", "finalanswer", "response", "result", "output", "reply", "text", "content", "message", "summary")
"""Plain names of fields that hold an answer."""

VISITS = 2_000
"""Parts of a schema that are looked at."""

FIXED = frozenset({"enum", "const", "format"})
"""Keywords of a string that is not any text."""


def filled_with(schema: Any, text: str) -> Any:
    """Return a value that a schema allows and that has the text in one place; None where it has no place for it.

    The place is the property that takes a text, a required one and one that is called like an answer before others, and
    one of the value itself before those of its parts. The rest is the least that fits.
    """
    schema = schema if isinstance(schema, Mapping) else {}
    try:
        checked = JsonSchema(schema)
    except UnusableSchema:  # it forbids nothing
        checked = JsonSchema({})
    found = islice(_Fillings(schema, text).of(schema, 0), MOST)
    try:
        return next((value for value in found if checked.is_valid(value)), None)
    except UnusableSchema:
        return None


def filled_json(schema: Any, text: str) -> str:
    """Write JSON that a schema of an answer allows, with a text as its answer where there is a place for it.

    Args:
        schema: empty for any object.
    """
    value = filled_with(schema, text) if schema else {"answer": text}
    return (valid_json(schema) or text) if value is None else json.dumps(value, ensure_ascii=False)


class _Fillings:
    """Makes values of the parts of one schema that have the text in them; they need not be valid yet."""

    def __init__(self, root: Schema, text: str) -> None:
        self._values = SchemaValues(root)
        self._text = text
        self._left = VISITS

    def of(self, schema: Any, level: int) -> Iterator[Any]:
        """Yield values for a part, those with the likeliest place first."""
        self._left -= 1
        if level > DEEPEST or self._left < 0 or not isinstance(schema, Mapping):
            return
        for flat in islice(self._values.flat(schema, level), MOST):
            kinds = _kinds(flat)
            if kinds & {"string", "any"} and not flat.keys() & FIXED:
                yield self._text
            if "object" in kinds:
                yield from self._objects(flat, level)
            if "array" in kinds:
                yield from ([part] for part in self.of(flat.get("items"), level + 1))

    def _objects(self, schema: Schema, level: int) -> Iterator[Any]:
        properties = schema.get("properties")
        if not isinstance(properties, Mapping):
            return
        rest = self._rest(schema, level)
        required = list_at(schema, "required")
        plain = {name: _rank(name) for name in properties}
        for name in sorted(
            properties, key=lambda name: (not self._is_text(properties[name]), name not in required, plain[name])
        ):
            yield from ({**rest, name: part} for part in self.of(properties[name], level + 1))

    def _rest(self, schema: Schema, level: int) -> dict[str, Any]:
        """Return the least object that fits; an empty one where a part is of a type that there is not."""
        try:
            return next((value for value in self._values.of(schema, level) if isinstance(value, dict)), {})
        except UnusableSchema:
            return {}

    def _is_text(self, schema: Any) -> bool:
        return any(
            _kinds(flat) & {"string", "any"} and not flat.keys() & FIXED
            for flat in islice(self._values.flat(schema, DEEPEST - 1), MOST)
        )


def _kinds(schema: Schema) -> frozenset[str]:
    """Return the types that a schema names, or that its keywords suggest; any where it says nothing."""
    kinds = schema.get("type")
    named = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
    if not named:
        named = ["object"] if "properties" in schema else ["array"] if "items" in schema else ["any"]
    return frozenset(kind for kind in named if isinstance(kind, str))


def _rank(name: str) -> int:
    """Return a place in an order in which names of answers come first."""
    plain = "".join(filter(str.isalnum, name.casefold()))
    return ANSWERS.index(plain) if plain in ANSWERS else len(ANSWERS)
