"""A trial's tool as a plain function with typed parameters, for frameworks that make their own tools from one."""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Optional

from trialbed.tools._schema_types import type_of

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
