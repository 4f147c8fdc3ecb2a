"""Reads OpenInference's spans, which Phoenix exports, and Langfuse's observations as spans of OpenTelemetry's form.

OpenInference: https://arize-ai.github.io/openinference/spec/. Langfuse: the traces that its pages download, and the
observations that its API and its tables export.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from trialbed.errors import DataError
from trialbed.wire import finite_float, parse_json
from trialbed_evaluation.conversations._calls import items, objects
from trialbed_evaluation.conversations._spans import Span, begin_of

KIND = "openinference.span.kind"
OPERATIONS = {"LLM": "chat", "GENERATION": "chat", "TOOL": "execute_tool"}
"""Kind of a span or an observation -> operation of OpenTelemetry's conventions."""

DEEPEST = 20
"""Parts of an attribute's name."""

ROOTS = ("llm", "tool", "input")
"""Beginnings of the names that are read."""

ARGUMENTS = ("gen_ai.tool.name", "gen_ai.tool.call.arguments")

OPENINFERENCE = {
    "gen_ai.input.messages": "llm.input_messages",
    "gen_ai.output.messages": "llm.output_messages",
    "gen_ai.tool.name": "tool.name",
    "gen_ai.tool.call.arguments": "input.value",
}
LANGFUSE = {
    "gen_ai.input.messages": "input",
    "gen_ai.output.messages": "output",
    "gen_ai.tool.name": "name",
    "gen_ai.tool.call.arguments": "input",
}
"""Attribute of OpenTelemetry's conventions -> the key of which it is made, for errors."""


def with_conventions(span: Span) -> Span:
    """Return a span with the attributes of OpenTelemetry's conventions, where it has OpenInference's."""
    operation = OPERATIONS.get(str(span.attributes.get(KIND, "")).upper())
    if operation is None:
        return span
    own = {name: value for name, value in span.attributes.items() if name.partition(".")[0] in ROOTS}
    found = _nest(own, span.place)
    model = _mapping(found.get("llm"))
    if operation == "execute_tool":
        # ``tool.parameters`` is the schema of the arguments, which are the input.
        given = _mapping(found.get("input")).get("value")
        named = dict(zip(ARGUMENTS, (_mapping(found.get("tool")).get("name"), given), strict=True))
    else:
        named = {
            "gen_ai.input.messages": _messages(model, "input_messages", span.place),
            "gen_ai.output.messages": _messages(model, "output_messages", span.place),
            "gen_ai.tool.definitions": [
                _definition(one, f"{span.place}: llm.tools[{index}]")
                for index, one in enumerate(_list(model.get("tools")))
                if _mapping(one)
            ],
        }
    return replace(span, attributes={"gen_ai.operation.name": operation, **named}, keys=OPENINFERENCE)


def is_langfuse(value: Mapping[str, Any]) -> bool:
    """Return whether an object is a trace of Langfuse, or one of its observations."""
    return isinstance(value.get("observations"), list) or ("traceId" in value and "type" in value)


def read_langfuse(value: Mapping[str, Any], place: str) -> Iterator[Span]:
    """Yield the spans of a trace, or of one observation.

    Raises:
        DataError: it is malformed; names the key.
    """
    listed = value.get("observations")
    if listed is None:
        if not isinstance(value["traceId"], str) or not value["traceId"]:
            raise DataError(f"{place}: traceId: must be the id of the observation's trace, as text")
        yield _observation(value, value["traceId"], place)
        return
    trace = value.get("trace") if isinstance(value.get("trace"), Mapping) else value
    for index, one in enumerate(items(listed, f"{place}: observations")):
        at = f"{place}: observations[{index}]"
        if not isinstance(one, Mapping):
            raise DataError(f"{at}: must be an observation")
        yield _observation(one, str(one.get("traceId") or (trace or {}).get("id") or place), at)


def _observation(one: Mapping[str, Any], trace: str, place: str) -> Span:
    operation = OPERATIONS.get(str(one.get("type", "")).upper(), "")
    given, answer = _read(one.get("input")), _read(one.get("output"))
    named: dict[str, Any] = {}
    if operation == "execute_tool":
        named = dict(zip(ARGUMENTS, (one.get("name"), given), strict=True))
    elif operation:
        asked = given.get("messages", given) if isinstance(given, Mapping) else given
        named = {
            "gen_ai.input.messages": _to_messages(asked, "user"),
            "gen_ai.output.messages": _to_messages(answer, "assistant"),
            "gen_ai.tool.definitions": given.get("tools") if isinstance(given, Mapping) else None,
        }
    return Span(
        place,
        trace,
        begin_of(one.get("startTime") or one.get("start_time")),
        {"gen_ai.operation.name": operation, **named} if operation else {},
        (),
        LANGFUSE,
    )


def _to_messages(value: Any, role: str) -> list[Any]:
    """Return the messages of an input or output, which may be a list, one message, an answer of an API, or a text."""
    if isinstance(value, Mapping) and isinstance(value.get("choices"), Sequence):
        value = [choice.get("message") for choice in value["choices"] if isinstance(choice, Mapping)]
    if value is None:
        return []
    if isinstance(value, list):
        return value
    if isinstance(value, Mapping):
        return [{"role": role, **value}]
    return [{"role": role, "content": str(value)}]


def _read(value: Any) -> Any:
    """Return a value that may have been exported as the text of its JSON; any other text as it is."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return parse_json(value, finite_float, unique=True)
    except ValueError:
        return value


def _messages(model: Mapping[str, Any], key: str, place: str) -> list[dict[str, Any]]:
    listed = model.get(key)
    return [] if listed is None else [_message(one) for _, one in objects(listed, f"{place}: llm.{key}")]


def _message(one: Any) -> dict[str, Any]:
    given = _mapping(_mapping(one).get("message", one))
    parts = [part.get("message_content", part) for part in _list(given.get("contents")) if isinstance(part, Mapping)]
    content = given.get("content")
    calls = [_mapping(_mapping(call).get("tool_call", call)) for call in _list(given.get("tool_calls"))]
    found = {"role": given.get("role"), "content": content if content is not None else parts or None}
    if calls:
        found["tool_calls"] = [{"id": call.get("id"), "function": call.get("function", {})} for call in calls]
    if given.get("tool_call_id"):
        found["tool_call_id"] = given["tool_call_id"]
    return found


def _definition(one: Any, place: str) -> Any:
    """Return the definition of a tool; where it has only a schema, with the name beside it."""
    given = _mapping(_mapping(one).get("tool", one))
    text = given.get("json_schema")
    schema = _read(text)
    if text is not None and not isinstance(schema, Mapping):
        raise DataError(f"{place}.tool.json_schema: must be a JSON Schema, or its JSON text")
    schema = _mapping(schema)
    if "function" in schema or "name" in schema:
        return schema
    return {"name": str(given.get("name") or ""), "description": given.get("description") or "", "parameters": schema}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _nest(value: Any, place: str, depth: int = 0) -> Any:
    """Return flattened names as objects and lists: ``{"a.0.b": 1}`` as ``{"a": [{"b": 1}]}``."""
    if isinstance(value, list):
        return [_nest(item, place, depth + 1) for item in value]
    if not isinstance(value, Mapping):
        return value
    found: dict[str, Any] = {}
    for name, item in value.items():
        *parts, last = str(name).split(".")
        if depth + len(parts) > DEEPEST:
            raise DataError(f"{place}: {name!r:.80}: the name has too many parts")
        inner = found
        for part in parts:
            inner = inner.setdefault(part, {})
            if not isinstance(inner, dict):
                raise DataError(f"{place}: {name!r:.80}: a part of it is a value of its own")
        inner[last] = _nest(item, place, depth + 1)
    return _with_lists(found)


def _with_lists(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    found = {name: _with_lists(item) for name, item in value.items()}
    if found and all(name.isdecimal() and len(name) < 7 for name in found):
        return [item for _, item in sorted(found.items(), key=lambda pair: int(pair[0]))]
    return found
