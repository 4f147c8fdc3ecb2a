"""A tool as a function with the types of its JSON Schema, for frameworks that make a schema of types again."""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Literal, Optional

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


NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_]")


def typed_function(tool: Any, *, is_async: bool = False) -> Callable[..., Any]:
    """Return a function that calls a tool, with its name, its description and its parameters by their types."""
    properties = tool.spec.parameters.get("properties", {})
    names = field_names(properties)
    own_names = {field: name for name, field in names.items()}
    required = set(tool.spec.parameters.get("required", ()))
    kinds = {name: type_of(schema, tool.spec.parameters) for name, schema in properties.items()}
    signature = _signature({names[name]: (kind, name in required) for name, kind in kinds.items()})

    def arguments_of(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        given = signature.bind(*args, **kwargs).arguments
        # Frameworks pass the defaults of a signature, too, and None stands for no argument there.
        is_left_out = {name for name, value in given.items() if value is None and own_names[name] not in required}
        return {own_names[name]: value for name, value in given.items() if name not in is_left_out}

    def call(*args: Any, **kwargs: Any) -> str:
        return str(tool.text(arguments_of(args, kwargs)))

    async def call_async(*args: Any, **kwargs: Any) -> str:
        return str(await tool.atext(arguments_of(args, kwargs)))

    function: Any = call_async if is_async else call
    function.__name__ = function.__qualname__ = tool.spec.name
    function.__doc__ = _docstring(tool.spec.description, {names[name]: part for name, part in properties.items()})
    function.__signature__ = signature
    function.__annotations__ = {one.name: one.annotation for one in signature.parameters.values()} | {"return": str}
    made: Callable[..., Any] = function
    return made


def _signature(parameters: Mapping[str, tuple[Any, bool]]) -> inspect.Signature:
    made = []
    for name, (kind, is_required) in sorted(parameters.items(), key=lambda item: not item[1][1]):
        made.append(
            inspect.Parameter(
                name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=inspect.Parameter.empty if is_required else None,
                annotation=kind if is_required or kind is Any else Optional[kind],  # noqa: UP045 - code asks for a Union
            )
        )
    return inspect.Signature(made, return_annotation=str)


def _docstring(description: str, properties: Mapping[str, Any]) -> str:
    lines = [
        f"    {name}: {' '.join(str(schema['description']).split())}"
        for name, schema in properties.items()
        if isinstance(schema, Mapping) and schema.get("description")
    ]
    return "\n".join([description, *(["", "Args:", *lines] if lines else [])])


def field_names(parameters: Iterable[str]) -> dict[str, str]:
    """Return the names of fields by the names of parameters, unchanged if Python and Pydantic allow them.

    Others become identifiers that no other parameter has, such as ``from_`` for ``from`` and ``param_id`` for ``_id``.
    """
    given = list(parameters)
    names = {name: name for name in given if _can_be_field(name)}
    for name in given:
        if name in names:
            continue
        plain = NOT_IN_NAMES.sub("_", name)
        field = f"{plain}_" if keyword.iskeyword(plain) else plain
        field = field if field[:1].isalpha() else f"param_{field.lstrip('_')}"
        while field in names.values():
            field += "_"
        names[name] = field
    return names


def _can_be_field(name: str) -> bool:
    return name.isascii() and name.isidentifier() and not name.startswith("_") and not keyword.iskeyword(name)
