"""Reads OpenTelemetry spans with the attributes of its conventions for generative AI, one sample per trace.

Those of OpenInference (https://arize-ai.github.io/openinference/spec/) are read as if they had these attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from trialbed.errors import DataError
from trialbed.wire import finite_float, parse_json
from trialbed_evaluation.conversations._messages import (
    Message,
    Sample,
    ToolCall,
    items,
    kind,
    objects,
    read_call,
    read_messages,
    read_tools,
)

FORMAT = "opentelemetry"
ASKS = ("chat", "generate_content", "text_completion")
"""Operations in which a model answers."""

EVENTS = {
    "gen_ai.system.message": "system",
    "gen_ai.user.message": "user",
    "gen_ai.assistant.message": "assistant",
    "gen_ai.tool.message": "tool",
}
"""Events of older conventions -> role of their message."""

CHOICE = "gen_ai.choice"

MOST_DIGITS = 30
"""Characters of an integer that are read; OTLP's have 64 bits."""


KIND = "openinference.span.kind"
OPERATIONS = {"LLM": "chat", "TOOL": "execute_tool"}
"""Kind of a span of OpenInference -> operation of OpenTelemetry's conventions."""

DEEPEST = 20
"""Parts of an attribute's name."""

ROOTS = ("llm", "tool", "input")
"""Beginnings of the names that are read."""

OPENINFERENCE = {
    "gen_ai.input.messages": "llm.input_messages",
    "gen_ai.output.messages": "llm.output_messages",
    "gen_ai.tool.name": "tool.name",
    "gen_ai.tool.call.arguments": "input.value",
}
"""Attribute of OpenTelemetry's conventions -> that of OpenInference's of which it is made, for errors."""


@dataclass(frozen=True)
class Span:
    """A span, whichever exporter wrote it.

    Attributes:
        keys: attribute -> the key of its file that it was made of, where that is another.
    """

    place: str
    trace: str
    start: str
    attributes: Mapping[str, Any]
    events: tuple[tuple[str, Mapping[str, Any]], ...]
    keys: Mapping[str, str] = field(default_factory=dict)

    def place_of(self, key: str) -> str:
        """Return where an attribute stands, for errors."""
        return f"{self.place}: {self.keys.get(key, key)}"

    @property
    def operation(self) -> str:
        """The operation that it measures, such as ``chat``."""
        return str(self.attributes.get("gen_ai.operation.name", ""))

    def value(self, key: str) -> Any:
        """Return an attribute, read from its JSON where it is text."""
        given = self.attributes.get(key)
        if not isinstance(given, str):
            return given
        try:
            return parse_json(given, finite_float, unique=True)
        except ValueError as error:
            raise DataError(f"{self.place_of(key)}: is not JSON: {error}") from None


def is_export(value: Mapping[str, Any]) -> bool:
    """Return whether an object is an export in OTLP's JSON."""
    return "resourceSpans" in value or "resource_spans" in value


def is_span(value: Mapping[str, Any]) -> bool:
    """Return whether an object is a span."""
    return "attributes" in value and ("context" in value or "spanId" in value or "span_id" in value)


def read_export(value: Mapping[str, Any], place: str) -> Iterator[Span]:
    """Yield the spans of an export.

    Raises:
        DataError: it is malformed; names the key.
    """
    for _, resource in objects(value.get("resourceSpans", value.get("resource_spans")), f"{place}: resourceSpans"):
        for _, scope in objects(resource.get("scopeSpans", resource.get("scope_spans", [])), f"{place}: scopeSpans"):
            for index, span in enumerate(items(scope.get("spans", []), f"{place}: spans")):
                yield read_span(span, f"{place}: spans[{index}]")


def read_span(value: Any, place: str) -> Span:
    """One span, as OTLP's JSON or the console exporter of OpenTelemetry's SDK writes it.

    Raises:
        DataError: it is malformed; names the key.
    """
    if not isinstance(value, Mapping):
        raise DataError(f"{place}: must be a span, not {kind(value)}")
    context = value.get("context")
    ids = context if isinstance(context, Mapping) else value
    trace = ids.get("trace_id", ids.get("traceId"))
    if not isinstance(trace, str) or not trace:
        raise DataError(f"{place}: trace_id: must be the id of the span's trace, not {kind(trace)}")
    start = value.get("start_time", value.get("startTimeUnixNano", value.get("start_time_unix_nano", "")))
    span = Span(
        place=place,
        trace=trace,
        start=_begin_of(start),
        attributes=_attributes(value.get("attributes"), f"{place}: attributes"),
        events=tuple(
            (str(event.get("name", "")), _attributes(event.get("attributes"), f"{at}.attributes"))
            for at, event in objects(value.get("events") or [], f"{place}: events")
        ),
    )
    return _with_conventions(span)


def _with_conventions(span: Span) -> Span:
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
        named = {"gen_ai.tool.name": _mapping(found.get("tool")).get("name"), "gen_ai.tool.call.arguments": given}
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
    try:
        schema = parse_json(text, finite_float, unique=True) if isinstance(text, str) else text
    except ValueError:
        schema = text
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


def _begin_of(value: Any) -> str:
    """Return a time as a text that sorts: of ISO 8601 in UTC, of nanoseconds since 1970 with zeros in front."""
    text = str(value or "")
    try:
        return datetime.fromisoformat(text).astimezone(UTC).isoformat(timespec="microseconds")
    except (ValueError, OverflowError):
        return text.rjust(32, "0")


def samples_of(spans: Iterable[Span]) -> Iterator[Sample]:
    """One sample per trace, in the order in which they began in the file. Traces without a model or tool have none."""
    traces: dict[str, list[Span]] = {}
    for span in spans:
        traces.setdefault(span.trace, []).append(span)
    for trace, members in traces.items():
        ordered = sorted(members, key=lambda span: span.start)
        if any(key.startswith("gen_ai.") for span in ordered for key in span.attributes):
            yield _sample(trace, ordered)


def _sample(trace: str, spans: list[Span]) -> Sample:
    asked = [span for span in spans if span.operation in ASKS] or [
        span for span in spans if span.operation != "execute_tool"
    ]
    said = [(_input(span), _output(span)) for span in asked]
    calls = [call for _, output in said for message in output for call in message.calls or ()]
    executed = [_executed_call(span) for span in spans if span.operation == "execute_tool"]
    known = {call.id for call in calls}
    # The calls that the model asked for, then those that ran although no answer of it was recorded.
    calls += [call for call in executed if (call.id and call.id not in known) or not known]
    history, last = max(said, key=lambda pair: len(pair[0]), default=((), ()))
    tools: dict[str, Mapping[str, Any]] = {}
    for span in spans:
        tools.update(read_tools(span.value("gen_ai.tool.definitions"), span.place))
    return Sample(
        id=trace,
        place=spans[0].place,
        format=FORMAT,
        messages=(*history, *last) or None,
        calls=tuple(calls),
        tools=tools,
        unrecorded="" if executed else _missing_parts(asked),
    )


def _missing_parts(asked: Sequence[Span]) -> str:
    """Name the parts of a model's calls that the spans of its answers lack."""
    answers = [span for span in asked if span.operation in ASKS]
    missing = [span for span in answers if not _has_output(span) and "error.type" not in span.attributes]
    if not answers and not any(map(_has_output, asked)):
        missing = list(asked)
    return f"{missing[0].place}: the model's answer is not recorded (gen_ai.output.messages)" if missing else ""


def _has_output(span: Span) -> bool:
    return "gen_ai.output.messages" in span.attributes or any(name == CHOICE for name, _ in span.events)


def _input(span: Span) -> tuple[Message, ...]:
    given = span.value("gen_ai.input.messages")
    if given is not None:
        return read_messages(given, span.place_of("gen_ai.input.messages"))
    found = [{"role": EVENTS[name], **_event(fields, span)} for name, fields in span.events if name in EVENTS]
    return read_messages(found, f"{span.place}: events")


def _output(span: Span) -> tuple[Message, ...]:
    given = span.value("gen_ai.output.messages")
    if given is not None:
        return read_messages(given, span.place_of("gen_ai.output.messages"))
    found = []
    for name, fields in span.events:
        if name == CHOICE:
            message = _load(fields.get("message"), span) if "message" in fields else _event(fields, span)
            found.append({"role": "assistant", **(message if isinstance(message, Mapping) else {"content": message})})
    return read_messages(found, f"{span.place}: events")


def _event(fields: Mapping[str, Any], span: Span) -> dict[str, Any]:
    found: dict[str, Any] = {"content": fields.get("content")}
    if "tool_calls" in fields:
        found["tool_calls"] = _load(fields["tool_calls"], span)
    if isinstance(fields.get("id"), str):
        found["tool_call_id"] = fields["id"]
    return found


def _load(value: Any, span: Span) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return parse_json(value, finite_float, unique=True)
    except ValueError as error:
        raise DataError(f"{span.place}: events: is not JSON: {error}") from None


def _executed_call(span: Span) -> ToolCall:
    name = span.attributes.get("gen_ai.tool.name")
    if not isinstance(name, str):
        raise DataError(f"{span.place_of('gen_ai.tool.name')}: must be the tool's name, not {kind(name)}")
    call_id = span.attributes.get("gen_ai.tool.call.id")
    given = span.attributes.get("gen_ai.tool.call.arguments")
    if given is None:
        return ToolCall(name, None, str(call_id or ""), "the span has no gen_ai.tool.call.arguments")
    if isinstance(given, Mapping | str):
        return read_call({"name": name, "arguments": given, "id": call_id}, span.place)
    place = span.place_of("gen_ai.tool.call.arguments")
    raise DataError(f"{place}: must be an object or its JSON text, not {kind(given)}")


def _attributes(value: Any, place: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return value
    found = {}
    for index, item in enumerate(items(value, place)):
        if not isinstance(item, Mapping) or not isinstance(item.get("key"), str):
            raise DataError(f"{place}[{index}]: must be an object with key and value")
        found[item["key"]] = _any_value(item.get("value"), f"{place}[{index}].value")
    return found


def _any_value(value: Any, place: str) -> Any:
    """Return the value of an ``AnyValue`` of OTLP."""
    if not isinstance(value, Mapping):
        raise DataError(f"{place}: must be an object such as {{'stringValue': …}}, not {kind(value)}")
    for key, item in value.items():
        form = key.replace("_v", "V")
        if form == "intValue":
            return _integer(item, f"{place}.{key}")
        if form in ("stringValue", "doubleValue", "boolValue", "bytesValue"):
            return item
        if form in ("arrayValue", "kvlistValue") and not isinstance(item, Mapping):
            raise DataError(f"{place}.{key}: must be an object with values, not {kind(item)}")
        if form == "arrayValue":
            return [_any_value(inner, at) for at, inner in objects(item.get("values", []), f"{place}.{key}.values")]
        if form == "kvlistValue":
            return _attributes(item.get("values", []), place)
    return None


def _integer(value: Any, place: str) -> int:
    """Return an integer, which OTLP's JSON has as text."""
    text = str(int(value) if isinstance(value, float) and value.is_integer() else value)
    try:
        if len(text) > MOST_DIGITS:
            raise ValueError(text)
        return int(text)
    except ValueError:
        raise DataError(f"{place}: must be an integer, not {text[:MOST_DIGITS]!r}") from None
