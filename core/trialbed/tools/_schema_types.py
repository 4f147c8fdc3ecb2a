"""The Python types that a JSON Schema describes, for code that makes a schema of types again."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any, Literal, NotRequired, Union, cast

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

DEEPEST = 10
"""Levels of schemas within schemas that are read."""

MOST = 1_000
"""Schemas of one tool that are read; what lies beyond may be anything."""

SURROGATES = re.compile("[\ud800-\udfff]")
NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9]+")


def simple_type(declared: Any) -> Any:
    """Return the type by the ``type`` of a schema, which may be a list with ``null`` in it."""
    kinds = [kind for kind in (declared if isinstance(declared, list) else [declared]) if kind != "null"]
    return TYPES.get(kinds[0], Any) if len(kinds) == 1 and isinstance(kinds[0], str) else Any


class SchemaTypes:
    """The types of the schemas within one schema, whose definitions they name.

    Choices are a ``Literal``, alternatives a ``Union``, objects with named properties a ``TypedDict``. Bounds, patterns
    and formats are in no type, nor are schemas that hold for the same value at once, or that contain themselves.
    """

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._left = MOST
        self._open: list[str] = []

    def type_of(self, schema: Any, name: str) -> Any:
        """Return the type of the values that a schema allows; ``Any`` where types cannot tell.

        Args:
            name: of the parameter or property; types are called after it.
        """
        self._left -= 1
        if not isinstance(schema, Mapping) or self._left < 0 or len(self._open) > DEEPEST:
            return Any
        self._open.append("")
        try:
            return self._of(schema, name)
        finally:
            self._open.pop()

    def _of(self, schema: Mapping[str, Any], name: str) -> Any:
        if isinstance(reference := schema.get("$ref"), str):
            return self._referenced(reference, name)
        for choices in (schema.get("enum"), [schema["const"]] if "const" in schema else None):
            if isinstance(choices, list) and choices and all(_is_literal(choice) for choice in choices):
                return Literal[tuple(choices)]
        for key in ("anyOf", "oneOf", "allOf"):
            parts = schema.get(key)
            if isinstance(parts, list) and parts and (key != "allOf" or len(parts) == 1):
                alternatives = _union(self.type_of(part, name) for part in parts)
                if alternatives is not Any:  # otherwise they add nothing to the type beside them
                    return alternatives
        kinds = schema.get("type", "object" if "properties" in schema else None)
        kinds = kinds if isinstance(kinds, list) and kinds else [kinds]
        return _union(self._of_kind(kind, schema, name) for kind in kinds)

    def _of_kind(self, kind: Any, schema: Mapping[str, Any], name: str) -> Any:
        if kind == "array":
            inner = self.type_of(schema.get("items"), name)
            return list if inner is Any else list[inner]  # type: ignore[valid-type] # made of a schema
        properties = schema.get("properties")
        if kind == "object" and isinstance(properties, Mapping) and properties and all(map(_is_literal, properties)):
            return self._record(schema, properties, name)
        if kind == "object" and isinstance(values := schema.get("additionalProperties"), Mapping):
            inner = self.type_of(values, name)
            return dict if inner is Any else dict[str, inner]  # type: ignore[valid-type] # made of a schema
        return TYPES.get(kind, Any) if isinstance(kind, str) else Any

    def _record(self, schema: Mapping[str, Any], properties: Mapping[str, Any], name: str) -> Any:
        from pydantic import ConfigDict, Field
        from typing_extensions import TypedDict  # pydantic takes no other before Python 3.12

        required = schema.get("required")
        required = required if isinstance(required, list) else []
        title = _title(name)
        fields = {}
        for key, part in properties.items():
            kind = self.type_of(part, f"{name} {key}")
            text = part.get("description") if isinstance(part, Mapping) else None
            described = Annotated[kind, Field(description=text)] if isinstance(text, str) and text else kind
            fields[key] = described if key in required else NotRequired[described]
        made = cast("Any", TypedDict)(title, fields)
        # Properties that a schema does not name go through, as they do to the Api itself, unless it excludes them.
        is_closed = schema.get("additionalProperties") is False
        made.__pydantic_config__ = ConfigDict(extra="forbid" if is_closed else "allow")
        made.__doc__ = description if isinstance(description := schema.get("description"), str) else None
        return made

    def _referenced(self, reference: str, name: str) -> Any:
        if reference in self._open or not reference.startswith("#/"):
            return Any
        found: Any = self._root
        for step in reference[2:].split("/"):
            key = step.replace("~1", "/").replace("~0", "~")
            found = found.get(key) if isinstance(found, Mapping) else None
        self._open.append(reference)
        try:
            return self.type_of(found, name)
        finally:
            self._open.pop()


def _union(types: Iterator[Any]) -> Any:
    found = tuple(types)
    return Any if Any in found else Union[found]  # noqa: UP007 - made of several


def _is_literal(value: Any) -> bool:
    """Return whether a ``Literal`` can have a value: half an emoji ends pydantic's."""
    return value is None or isinstance(value, int) or (isinstance(value, str) and not SURROGATES.search(value))


def _title(name: str) -> str:
    words: Sequence[str] = [word for word in NOT_IN_NAMES.split(name) if word]
    title = "".join(word[0].upper() + word[1:] for word in words)
    return title if title.isidentifier() else f"Object{title}"
