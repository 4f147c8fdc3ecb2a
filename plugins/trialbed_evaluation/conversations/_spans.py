"""Read traces of tracers and agent frameworks as one sample per conversation.

Each convention is a row of ``CONVENTIONS``. A span, run or observation is a model request or a tool call, and the row
has the keys of its messages or its call.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from trialbed.errors import DataError
from trialbed.texts import group_by_key
from trialbed.wire import parse_json
from trialbed_evaluation.conversations._messages import (
    CONVENTIONS,
    KEYS,
    Message,
    Sample,
    ToolCall,
    calls_in,
    items,
    join_steps,
    kind,
    load,
    objects,
    read_call,
    read_messages,
    read_result,
    read_tools,
)

DEEPEST = 20
"""Parts of an attribute's name."""

CHOICE = "gen_ai.choice"
DETAILS = "gen_ai.client.inference.operation.details"
"""An event that has the attributes which other tracers give the span itself."""

INPUT, OUTPUT = "gen_ai.input.messages", "gen_ai.output.messages"


@dataclass(frozen=True, kw_only=True)
class Convention:
    """A row of the table of conventions, with the keys of a tracer's spans; the first key with a value counts.

    Attributes:
        kind: the kind of a span.
        models, tools: the kinds of spans for model requests and for tool calls.
        asked, answered: the messages to a model, and its own messages.
        name, id, arguments, result: of a tool call.
        definitions: of the tools offered to a model.
    """

    title: str
    kind: Sequence[str]
    models: Sequence[str]
    tools: Sequence[str]
    asked: Sequence[str]
    answered: Sequence[str]
    name: Sequence[str]
    id: Sequence[str] = ()
    arguments: Sequence[str]
    result: Sequence[str]
    definitions: Sequence[str] = ()


ROWS = [Convention(**row) for row in CONVENTIONS["traces"]]
ROLES: Mapping[str, str] = CONVENTIONS["events"]


@dataclass(frozen=True)
class Span:
    """A span of any tracer.

    Attributes:
        fields: its attributes, or the keys of a record without attributes.
        kind: ``model``, ``tool`` or another.
    """

    place: str
    trace: str
    start: str
    fields: Mapping[str, Any]
    failed: bool = False
    kind: str = ""
    convention: Convention = field(default=ROWS[0])

    def value(self, keys: Sequence[str]) -> tuple[str, Any]:
        """Return the first of some keys that has a value, and the value; else the first and None."""
        for key in keys:
            found = _value_at(self.fields, key, self.place)
            if found is not None:
                # OpenInference flattens within lists, too.
                return key, _nest(found, self.place, key) if key.startswith("llm.") else found
        return "".join(keys[:1]), None

    def messages(self, keys: Sequence[str], role: Any) -> tuple[Message, ...]:
        """Return the messages that stand under a key, or its alternatives."""
        key, given = self.value(keys)
        place = f"{self.place}: {key.removeprefix('record.')}"
        given = load(given, place) if key in (INPUT, OUTPUT) else _load_object(given)
        while isinstance(given, list) and len(given) == 1 and isinstance(given[0], list) and not _is_pair(given[0]):
            given = given[0]  # LangChain's batches
        if isinstance(given, list):  # LangChain's short form
            given = [{"role": one[0], "content": one[1]} if _is_pair(one) else one for one in given]
        if self.convention.title == "Traceloop" and isinstance(given, list):
            given = [_with_parts(one) if isinstance(one, Mapping) else one for one in given]
        if given is None:
            return ()
        if self.kind != "model" or self.convention.title == "Langfuse":
            given = [{"content": given}] if isinstance(given, str) else given
            # The state of any step, which need not be a conversation.
            given = [one for one in given if isinstance(one, Mapping)] if isinstance(given, list) else given
        return read_messages([given] if isinstance(given, Mapping) else given, place, role)


def _is_pair(value: Any) -> bool:
    return isinstance(value, list) and [type(part) for part in value] == [str, str]


def _with_parts(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a message of Traceloop with its parts parsed from JSON text."""
    is_json = str(message.get("content")).startswith('[{"type":') and message.get("role") != "tool"
    return {**message, "content": _load_object(message["content"])} if is_json else message


def is_export(value: Mapping[str, Any]) -> bool:
    """Return whether an object is an export in OTLP's JSON."""
    return any(key in value for key in ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs"))


def is_span(value: Mapping[str, Any]) -> bool:
    """Return whether an object is a span."""
    ids = value.keys() & {"context", "spanId", "span_id", "trace_id", "traceId"}
    return bool(ids) and bool(value.keys() & {"attributes", "run_type", "span_data", "type"})


def read_export(value: Mapping[str, Any], place: str) -> Iterator[Span]:
    """Yield the spans of an export. A log record is one, too.

    Raises:
        DataError: it is malformed; names the key.
    """
    logs = ("resourceLogs", "scopeLogs", "logRecords")
    for resources, scopes, name in (("resourceSpans", "scopeSpans", "spans"), logs):
        for _, resource in objects(_either(value, resources), f"{place}: {resources}"):
            for _, scope in objects(_either(resource, scopes), f"{place}: {scopes}"):
                for index, one in enumerate(items(_either(scope, name), f"{place}: {name}")):
                    at = f"{place}: {name}[{index}]"
                    is_log = name == "logRecords" and isinstance(one, Mapping)
                    yield read_span(_span_of_log(one, at) if is_log else one, at)


def _either(value: Mapping[str, Any], key: str) -> Any:
    """Return an export's list under a key in camel or snake case, or an empty list."""
    return value.get(key, value.get("".join(f"_{one.lower()}" if one.isupper() else one for one in key), []))


def _span_of_log(record: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return a span with the log record as its only event."""
    attributes = _attributes(record.get("attributes"), f"{place}: attributes")
    body = _any_value(record["body"], f"{place}: body") if record.get("body") else None
    name = record.get("eventName", record.get("event_name")) or attributes.get("event.name")
    event = {"name": name, "attributes": {**attributes, **(body if isinstance(body, Mapping) else {})}}
    start = record.get("timeUnixNano") or record.get("observedTimeUnixNano")
    return {**record, "startTimeUnixNano": start, "attributes": {}, "events": [event]}


def read_span(value: Any, place: str) -> Span:
    """One span, run or observation, as OTLP's JSON, the console exporter of OpenTelemetry's SDK, or a tracer writes it.

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
    starts = ("start_time", "startTimeUnixNano", "start_time_unix_nano", "startTime", "started_at", "start_timestamp")
    start = next((value[key] for key in starts if value.get(key)), "")
    is_record = "run_type" in value or not value.keys() & {"attributes", "events"}
    fields: Mapping[str, Any] = {"record": value if is_record else {"name": value.get("name")}}
    events: list[tuple[Any, Mapping[str, Any]]] = []
    if not is_record:
        fields = {**fields, **_attributes(value.get("attributes"), f"{place}: attributes")}
        own = objects(value.get("events") or [], f"{place}: events")
        events = [(one.get("name"), _attributes(one.get("attributes"), f"{at}.attributes")) for at, one in own]
        listed = _load_object(fields.get("events"))  # Logfire's
        listed = listed if isinstance(listed, list) else []
        events += [(one.get("event.name"), one) for one in listed if isinstance(one, Mapping)]
    said: dict[str, Any] = {}
    for name, given in events:
        if name == DETAILS:
            said |= given
        elif name in ROLES:
            parts = {key: given[key] for key in ("content", "tool_calls", "id") if key in given}
            said.setdefault(INPUT, []).append({"role": ROLES[name], **parts})
        elif name == CHOICE:
            message = load(given["message"], f"{place}: events") if "message" in given else given
            answer = message if isinstance(message, Mapping) else {"content": message}
            said.setdefault(OUTPUT, []).append({"role": "assistant", **answer})
    fields = {**said, **fields}
    status = value.get("status")
    states = status.values() if isinstance(status, Mapping) else ()
    failed = bool(value.get("error")) or value.get("level") == "ERROR" or "error.type" in fields
    failed = failed or any(state in (2, "STATUS_CODE_ERROR", "ERROR") for state in states)
    span = Span(place, trace, _begin_of(start), fields, failed)
    for convention in ROWS:
        found = str(span.value(convention.kind)[1]).lower()
        if found in (*convention.models, *convention.tools):
            return replace(span, kind="model" if found in convention.models else "tool", convention=convention)
    for convention in ROWS:
        if any(span.value(keys)[1] is not None for keys in (convention.kind, convention.asked, convention.answered)):
            return replace(span, kind="other", convention=convention)
    return span


def _value_at(fields: Any, key: str, place: str) -> Any:
    """Return the value of a dotted key; its parts may be flattened, nested, or a JSON text."""
    if not isinstance(fields, Mapping):
        return None
    if fields.get(key) is not None:
        return fields[key]
    below = {name[len(key) + 1 :]: value for name, value in fields.items() if name.startswith(f"{key}.")}
    if below:
        return _nest(below, place, key)
    for end, character in enumerate(key):
        inner = fields.get(key[:end]) if character == "." else None
        if (found := _value_at(_load_object(inner), key[end + 1 :], place)) is not None:
            return found
    return None


def _load_object(value: Any) -> Any:
    """Return the object or list of a JSON text; any other value unchanged."""
    if isinstance(value, str) and value[:1] in ("[", "{"):
        with suppress(ValueError):
            return parse_json(value)
    return value


def _nest(value: Any, place: str, under: str, depth: int = 0) -> Any:
    """Return flattened names as objects and lists: ``{"a.0.b": 1}`` as ``{"a": [{"b": 1}]}``."""
    if isinstance(value, list):
        return [_nest(item, place, under, depth + 1) for item in value]
    if not isinstance(value, Mapping):
        return value
    if depth > DEEPEST:
        raise DataError(f"{place}: {under}: the name has too many parts")
    found: dict[str, Any] = {}
    for name, item in value.items():
        first, dot, rest = str(name).partition(".")
        own = found.setdefault(first, {}) if dot else found
        if not isinstance(own, dict):
            raise DataError(f"{place}: {under}.{name:.80}: a part of it is a value of its own")
        own[rest if dot else first] = item
    found = {name: _nest(item, place, under, depth + 1) for name, item in found.items()}
    if found and all(name.isdecimal() and len(name) < 7 for name in found):
        return [item for _, item in sorted(found.items(), key=lambda pair: int(pair[0]))]
    return found


def _begin_of(value: Any) -> str:
    """Return a time as a sortable text, in UTC for ISO 8601, or zero-padded for nanoseconds since 1970."""
    text = str(value or "")
    try:
        return datetime.fromisoformat(text).astimezone(UTC).isoformat(timespec="microseconds")
    except (ValueError, OverflowError):
        return text.rjust(32, "0")


def samples_of(spans: Iterable[Span]) -> Iterator[Sample]:
    """Yield one sample per conversation, in the order of the file; traces without a conversation are skipped.

    A trace is part of another conversation if its messages, including a call, are the beginning of that conversation.
    """
    traces = group_by_key((span.trace, span) for span in spans)
    samples = [
        _sample(trace, sorted(members, key=lambda span: span.start))
        for trace, members in traces.items()
        if any(span.kind for span in members)
    ]
    ends = [_beginnings(sample) for sample in samples]
    continued = {each for own in ends for each in own[:-1]}
    for sample, own in zip(samples, ends, strict=True):
        # Without an id, two conversations may just begin alike.
        if not (own and own[-1] in continued and any(call.id for call in sample.calls)):
            yield sample


def _beginnings(sample: Sample) -> list[int]:
    """Return a hash for each beginning of a conversation; equal beginnings have equal hashes."""
    found: list[int] = []
    for message in sample.messages or ():
        calls = tuple(call.id or f"{call.name} {call.args}" for call in message.calls or ())
        found.append(hash((*found[-1:], message.role, message.call_id or message.content, calls)))
    return found


def _sample(trace: str, spans: list[Span]) -> Sample:
    models = [span for span in spans if span.kind == "model"]
    # Other spans repeat what those of models have; the first may have the messages after the last of them.
    asked = models or [span for span in spans if span.kind == "other"]
    said = {id(span): _step(span) for span in (*asked, *spans[:1]) if span.kind != "tool"}
    known = calls_in(message for step in said.values() for message in step)
    ids = {call.id: call.name for call in known}
    waiting = group_by_key((name, call_id) for call_id, name in ids.items())
    steps = []
    for span in spans:
        if span.kind != "tool":
            steps.append(said.get(id(span), ()) if span in asked else ())
            continue
        call, result = _executed(span)
        if not call.id and known:
            # It ran a call that the model asked for, of which the span does not have the id.
            call_id = waiting[call.name].pop(0) if waiting.get(call.name) else ""
            steps.append((replace(result, call_id=call_id),) if call_id and result else ())
        elif call.id in ids:
            steps.append((result,) if result else ())
        else:
            steps.append((Message("assistant", "", (call,)), *((result,) if result else ())))
    whole = said.get(id(spans[0]), ())
    # If the first span has calls, it has the order of all; else its answer is the last one.
    messages = join_steps([whole if calls_in(whole) else (), *steps, whole])
    definitions: dict[str, Mapping[str, Any]] = {}
    for span in asked:
        key, given = span.value(span.convention.definitions)
        place = f"{span.place}: {key}"
        definitions.update(read_tools(load(given, place), place))
    executed = any(span.kind == "tool" for span in spans)
    named = ([span.value([key])[1] for span in spans] for key in KEYS["sessions"])
    sessions = next((names for given in named if (names := [name for name in given if isinstance(name, str)])), [])
    return Sample(
        id=trace,
        place=spans[0].place,
        format=f"spans of {spans[0].convention.title}",
        messages=messages or None,
        calls=calls_in(messages),
        tools=definitions,
        unrecorded="" if executed else _missing_parts(models or asked or spans),
        conversations=tuple(dict.fromkeys(filter(None, sessions))),
        began=spans[0].start,
    )


def _step(span: Span) -> Sequence[Message]:
    """Return a span's input and output messages; some outputs already include the input."""
    got = span.messages(span.convention.asked, "user")
    gave = span.messages(span.convention.answered, "assistant")
    return gave if got and gave[: len(got)] == got else (*got, *gave)


def _missing_parts(asked: Sequence[Span]) -> str:
    """Name the parts of a model's calls that the spans of its answers lack."""
    missing = [one for one in asked if one.value(one.convention.answered)[1] is None and "error.type" not in one.fields]
    if not missing or (missing != asked and asked[0].kind == "other"):
        return ""
    return f"{missing[0].place}: the model's answer is not recorded ({missing[0].convention.answered[0]})"


def _executed(span: Span) -> tuple[ToolCall, Message | None]:
    """Return the call of a tool's span, and its result if that is recorded."""
    row = span.convention
    key, name = span.value(row.name)
    if not isinstance(name, str):
        raise DataError(f"{span.place}: {key}: must be the tool's name, not {kind(name)}")
    call_id = str(span.value(row.id)[1] or "")
    key, given = span.value(row.arguments)
    if given is None:
        call = ToolCall(name, None, call_id, f"the span has no {key}")
    elif isinstance(given, Mapping | str):
        call = read_call({"name": name, "arguments": given, "id": call_id}, span.place)
    else:
        raise DataError(f"{span.place}: {key}: must be an object or its JSON text, not {kind(given)}")
    _, said = span.value(row.result)
    if said is None:
        return call, None
    message = _load_object(said)
    if isinstance(message, Mapping) and (message.get("type") == "tool" or "lc" in message):  # LangChain's
        (result,) = read_messages([message])
        return call, replace(result, call_id=call_id or result.call_id)
    return call, read_result({"content": said, "id": call_id, "is_error": span.failed})


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
    if not isinstance(value, Mapping):
        raise DataError(f"{place}: must be an object such as {{'stringValue': …}}, not {kind(value)}")
    for key, item in value.items():
        form = key.replace("_v", "V")
        if form in ("stringValue", "intValue", "doubleValue", "boolValue", "bytesValue"):
            return item
        if form in ("arrayValue", "kvlistValue") and not isinstance(item, Mapping):
            raise DataError(f"{place}.{key}: must be an object with values, not {kind(item)}")
        if form == "arrayValue":
            return [_any_value(inner, at) for at, inner in objects(item.get("values", []), f"{place}.{key}.values")]
        if form == "kvlistValue":
            return _attributes(item.get("values", []), place)
    return None
