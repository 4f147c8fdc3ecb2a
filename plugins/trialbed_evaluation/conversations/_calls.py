"""Reads calls of tools: Ragas's, OpenAI's, LangChain's, and mappings of the same form."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from trialbed.errors import DataError
from trialbed.wire import finite_float, parse_json
from trialbed_evaluation.conversations._types import ToolCall

ARGUMENTS = ("args", "arguments", "input", "parameters")
"""The keys under which formats keep arguments, in the order in which they are looked for."""

NULL = "the arguments are null"


def read_call(value: Any, place: str = "call") -> ToolCall:
    """One call.

    Args:
        value: a ``ToolCall``; a mapping with ``name`` and ``args`` or ``arguments`` (an object or its JSON text), by
            itself or under ``function``; or an object with attributes of these names, such as Ragas's ``ToolCall``.
        place: where it stands, for errors.

    Raises:
        DataError: it has another form.
    """
    if type(value) is ToolCall:
        return value
    if isinstance(value, Mapping):
        return _from_mapping(value, place)
    name = getattr(value, "name", None)
    if isinstance(name, str) and hasattr(value, "args"):
        args, problem = _arguments(value.args, f"{place}.args")
        return ToolCall(name, args, _text(getattr(value, "id", "")), problem)
    raise DataError(f"{place}: must be a call with name and args, not {kind(value)}")


def read_calls(value: Any, place: str = "calls") -> tuple[ToolCall, ...]:
    """Return the calls of a list.

    Raises:
        DataError: it is not a list of calls; names the place.
    """
    return tuple(read_call(call, f"{place}[{index}]") for index, call in enumerate(items(value, place)))


def read_reference(value: Any, place: str = "reference") -> tuple[ToolCall | tuple[ToolCall, ...], ...]:
    """Return the calls that are right: a list whose inner lists are parallel groups.

    Raises:
        DataError: it is not such a list; names the place.
    """
    return tuple(
        _group(element, f"{place}[{index}]")
        if type(element) is not dict and isinstance(element, Sequence) and not isinstance(element, (str, bytes))
        else _reference_call(element, f"{place}[{index}]")
        for index, element in enumerate(items(value, place))
    )


def _group(values: Sequence[Any], place: str) -> tuple[ToolCall, ...]:
    return tuple(_reference_call(value, f"{place}[{index}]") for index, value in enumerate(values))


def _reference_call(value: Any, place: str) -> ToolCall:
    """Return a call, or the name of a tool or ``null`` for the arguments, which is right with any arguments."""
    if isinstance(value, str):
        return ToolCall(value, None)
    call = read_call(value, place)
    return replace(call, args=None, problem="") if call.problem == NULL else call


def items(value: Any, place: str) -> Sequence[Any]:
    """Return the elements of a list or tuple.

    Raises:
        DataError: it is neither.
    """
    if isinstance(value, (list, tuple)):
        return value
    raise DataError(f"{place}: must be a list, not {kind(value)}")


def objects(value: Any, place: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the place and the content of each object of a list.

    Raises:
        DataError: it is no list of objects; names the place.
    """
    for index, item in enumerate(items(value, place)):
        if not isinstance(item, Mapping):
            raise DataError(f"{place}[{index}]: must be an object, not {kind(item)}")
        yield f"{place}[{index}]", item


def _from_mapping(value: Mapping[str, Any], place: str) -> ToolCall:
    function = value.get("function")
    if isinstance(function, Mapping):
        inner = _from_mapping(function, f"{place}.function")
        return ToolCall(inner.name, inner.args, _text(value.get("id")) or inner.id, inner.problem)
    name = value.get("name")
    if not isinstance(name, str):
        custom = value.get("custom")
        if isinstance(custom, Mapping) and isinstance(custom.get("name"), str):
            # OpenAI's custom tools take free text.
            return ToolCall(custom["name"], {"input": custom.get("input", "")}, _text(value.get("id")))
        raise DataError(f"{place}.name: must be the tool's name, not {kind(name)}")
    key = next((key for key in ARGUMENTS if key in value), None)
    if key is None:
        raise DataError(f"{place}.args: is missing; a call without arguments has an empty object")
    args, problem = _arguments(value[key], f"{place}.{key}")
    return ToolCall(name, args, _text(value.get("id")), problem)


def _arguments(value: Any, place: str) -> tuple[Mapping[str, Any], str]:
    if isinstance(value, str):
        return _parse(value)
    if value is None:
        return {}, NULL
    if not isinstance(value, Mapping):
        raise DataError(f"{place}: must be an object or its JSON text, not {kind(value)}")
    for key in value:
        if not isinstance(key, str):
            raise DataError(f"{place}: the name of an argument must be text, not {kind(key)}")
    return value, ""


def _parse(text: str) -> tuple[Mapping[str, Any], str]:
    """Return the arguments of a JSON text. A malformed one is the model's fault, not the file's."""
    if not text.strip():
        return {}, ""
    try:
        value = parse_json(text, finite_float, unique=True)
    except ValueError as error:
        return {}, f"the arguments are not JSON ({error}): {_shorten(text)}"
    if isinstance(value, dict):
        return value, ""
    return {}, f"the arguments are {kind(value)}, not an object: {_shorten(text)}"


def _shorten(text: str, most: int = 200) -> str:
    return text if len(text) <= most else f"{text[:most]}…"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def kind(value: Any) -> str:
    """Name the type of a value in words."""
    if value is None:
        return "nothing"
    names = {bool: "true or false", str: "text", dict: "an object", list: "a list", int: "a number", float: "a number"}
    return names.get(type(value), f"a value of type {type(value).__name__}")
