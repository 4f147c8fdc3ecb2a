"""The form that every format of conversations is read into, and the readers of messages, calls and records."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from trialbed.errors import DataError
from trialbed.tool_calls import ToolCall as ToolCall
from trialbed.wire import finite_float, parse_json

Role = Literal["system", "user", "assistant", "tool"]


Reference = Sequence["ToolCall | Sequence[ToolCall]"]
"""The calls that are right, in order. An inner sequence is a parallel group, whose calls may be made in any order."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a conversation.

    Attributes:
        content: its text; parts that are not text appear in it as ``[image_url]``, by their kind.
        calls: those of an assistant's message. None where the message has no list of calls.
        call_id: the call that a tool's message answers; empty where that is not known.
    """

    role: Role
    content: str = ""
    calls: tuple[ToolCall, ...] | None = None
    call_id: str = ""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A conversation, or the calls made in it, with its right values.

    Attributes:
        id: as the file gives it, else its place.
        place: the file and line it was read from.
        format: the format it was read from.
        messages: None where the format has calls only.
        calls: every call that was made, in order.
        reference: the calls that are right; None where that is not known.
        reference_topics: the topics that the assistant is to keep to.
        reference_goal: the outcome that the user wanted.
        tools: name of a tool -> JSON Schema of its arguments.
        steps: recorded outputs of a model's steps, by the step's name.
        other: keys of the file that have no meaning here.
        unrecorded: the parts of the calls that the file lacks, in words; empty where it has all of them.
    """

    id: str
    place: str = ""
    format: str = ""
    messages: tuple[Message, ...] | None = None
    calls: tuple[ToolCall, ...] = ()
    reference: tuple[ToolCall | tuple[ToolCall, ...], ...] | None = None
    reference_topics: tuple[str, ...] | None = None
    reference_goal: str | None = None
    tools: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    steps: Mapping[str, Any] = field(default_factory=dict)
    other: Mapping[str, Any] = field(default_factory=dict)
    unrecorded: str = ""


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
        return ToolCall(name, args, _string(getattr(value, "id", "")), problem)
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
        return ToolCall(inner.name, inner.args, _string(value.get("id")) or inner.id, inner.problem)
    name = value.get("name")
    if not isinstance(name, str):
        custom = value.get("custom")
        if isinstance(custom, Mapping) and isinstance(custom.get("name"), str):
            # OpenAI's custom tools take free text.
            return ToolCall(custom["name"], {"input": custom.get("input", "")}, _string(value.get("id")))
        raise DataError(f"{place}.name: must be the tool's name, not {kind(name)}")
    key = next((key for key in ARGUMENTS if key in value), None)
    if key is None:
        raise DataError(f"{place}.args: is missing; a call without arguments has an empty object")
    args, problem = _arguments(value[key], f"{place}.{key}")
    return ToolCall(name, args, _string(value.get("id")), problem)


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


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def kind(value: Any) -> str:
    """Name the type of a value in words."""
    if value is None:
        return "nothing"
    names = {bool: "true or false", str: "text", dict: "an object", list: "a list", int: "a number", float: "a number"}
    return names.get(type(value), f"a value of type {type(value).__name__}")


ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
}
"""Role or type of a message, as formats spell it -> role."""

TEXTS = ("text", "input_text", "output_text")
"""Kinds of content parts that are text."""


def read_message(value: Any, place: str = "message") -> Message:
    """One message.

    Args:
        value: a ``Message``; a mapping with ``role`` (OpenAI) or ``type`` (Ragas, LangChain), ``content`` or ``parts``,
            and ``tool_calls``; or an object with attributes of these names.
        place: where it stands, for errors.

    Raises:
        DataError: it has another form; names the key.
    """
    if type(value) is Message:
        return value
    fields = value if isinstance(value, Mapping) else _attributes(value)
    if fields is None:
        raise DataError(f"{place}: must be a message with role and content, not {kind(value)}")
    role = _role(fields, place)
    content, calls, call_id = _content(fields, place)
    listed = _listed_calls(fields, place)
    if listed is not None or calls:
        calls_made = (*(listed or ()), *calls)
        return Message(role, content, calls_made, call_id)
    return Message(role, content, None, call_id)


def read_messages(value: Any, place: str = "messages") -> tuple[Message, ...]:
    """Return the messages of a list.

    Raises:
        DataError: it is not a list of messages; names the place.
    """
    return tuple(read_message(message, f"{place}[{index}]") for index, message in enumerate(items(value, place)))


def is_message(value: Any) -> bool:
    """Return whether a value looks like a message rather than like a call."""
    if isinstance(value, Mapping):
        if "function" in value or "args" in value or "arguments" in value:
            return False
        return "role" in value or "content" in value or value.get("type") in ROLES
    return isinstance(value, Message) or hasattr(value, "content")


def calls_in(messages: Iterable[Message]) -> tuple[ToolCall, ...]:
    """Return every call that the assistant made, in order."""
    return tuple(call for message in messages if message.role == "assistant" for call in message.calls or ())


def _attributes(value: Any) -> Mapping[str, Any] | None:
    if not hasattr(value, "content"):
        return None
    names = ("role", "type", "content", "tool_calls", "tool_call_id", "additional_kwargs")
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def _role(fields: Mapping[str, Any], place: str) -> Role:
    key = "role" if "role" in fields else "type"
    given = fields.get(key)
    if given is None:
        # As Ragas reads messages without a type.
        return "assistant" if fields.get("tool_calls") is not None else "user"
    role = ROLES.get(given) if isinstance(given, str) else None
    if role is None:
        raise DataError(f"{place}.{key}: must be one of {', '.join(ROLES)}, not {given!r}")
    return role


def _listed_calls(fields: Mapping[str, Any], place: str) -> tuple[ToolCall, ...] | None:
    calls = fields.get("tool_calls")
    if not calls:
        # LangChain keeps calls that it could not parse, and those of older versions, in another place.
        kwargs = fields.get("additional_kwargs")
        calls = (kwargs.get("tool_calls") if isinstance(kwargs, Mapping) else None) or calls
    if calls is not None:
        return read_calls(calls, f"{place}.tool_calls")
    single = fields.get("function_call")
    return None if single is None else (read_call(single, f"{place}.function_call"),)


def _content(fields: Mapping[str, Any], place: str) -> tuple[str, tuple[ToolCall, ...], str]:
    """Return the text, the calls among the parts, and the call that is answered."""
    call_id = fields.get("tool_call_id")
    answered = call_id if isinstance(call_id, str) else ""
    key = "content" if "content" in fields or "parts" not in fields else "parts"
    content = fields.get(key)
    if content is None or isinstance(content, str):
        return content or "", (), answered
    if not isinstance(content, Sequence):
        if fields.get("role") in ("tool", "function") or fields.get("type") == "tool":
            # A tool's result that was not turned into text.
            return json.dumps(content, ensure_ascii=False, default=str), (), answered
        raise DataError(f"{place}.{key}: must be text or a list of parts, not {kind(content)}")
    texts, calls = [], []
    for index, part in enumerate(content):
        at = f"{place}.{key}[{index}]"
        text, call, answers = _part(part, at)
        answered = answered or answers
        if call is not None:
            calls.append(call)
        elif text:
            texts.append(text)
    return "\n".join(texts), tuple(calls), answered


def _part(part: Any, place: str) -> tuple[str, ToolCall | None, str]:
    if isinstance(part, str):
        return part, None, ""
    if not isinstance(part, Mapping):
        raise DataError(f"{place}: must be text or an object with a type, not {kind(part)}")
    form = part.get("type", "text" if "text" in part else None)
    if not isinstance(form, str):
        raise DataError(f"{place}.type: must be the kind of the part, not {kind(form)}")
    if form in TEXTS:
        return _as_text(part.get("text", part.get("content", ""))), None, ""
    if form in ("tool_call", "tool_use"):
        return "", read_call(part, place), ""
    if form in ("tool_call_response", "tool_result"):
        said = next((part[key] for key in ("response", "result", "content") if key in part), "")
        return _as_text(said), None, _as_text(part.get("id", part.get("tool_use_id", "")))
    return f"[{form}]", None, ""


def _as_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


IDS = ("id", "sample_id", "query_id", "conversation_id")
CALLS = ("predicted", "predicted_tool_calls")
MESSAGES = ("messages", "conversation", "user_input")
REFERENCES = ("reference_tool_calls", "expected_tool_calls")
TOPICS = "reference_topics"
GOAL = "reference_goal"
EITHER = "reference"
"""The calls that are right, as a list, or, as in Ragas, the outcome in words."""

TOOLS = ("tools", "functions", "available_tools")
STEPS = "llm_outputs"
ANSWER = "response"
KNOWN = frozenset({*IDS, *CALLS, *MESSAGES, *REFERENCES, TOPICS, GOAL, EITHER, *TOOLS, STEPS, ANSWER})


def is_record(value: Mapping[str, Any]) -> bool:
    """Return whether an object is a record of one of these formats."""
    return any(key in value for key in (*CALLS, *MESSAGES))


def read_record(value: Mapping[str, Any], place: str) -> Sample:
    """Return the sample of a record.

    Raises:
        DataError: a key has a wrong value; names it.
    """
    messages, key = _record_messages(value, place)
    made = next((name for name in CALLS if value.get(name) is not None), None)
    if made is None and messages is None:
        raise DataError(f"{place}: has neither calls ({' or '.join(CALLS)}) nor messages")
    calls = read_calls(value[made], f"{place}: {made}") if made else calls_in(messages or ())
    return Sample(
        id=identity(value, place),
        place=place,
        format=_format(value, key),
        messages=messages,
        calls=calls,
        tools=read_tools(next((value[name] for name in TOOLS if name in value), None), place),
        steps=_steps(value.get(STEPS), place),
        other={name: item for name, item in value.items() if name not in KNOWN},
        **references(value, place),
    )


def references(value: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Read a record's right values: the fields of a sample that have them.

    Raises:
        DataError: a key has a wrong value; names it.
    """
    found: dict[str, Any] = {}
    either = value.get(EITHER)
    name = next((name for name in REFERENCES if value.get(name) is not None), None)
    if name is None and isinstance(either, (list, tuple)):
        name = EITHER
    if name is not None:
        found["reference"] = read_reference(value[name], f"{place}: {name}")
    goal = value.get(GOAL, either if name != EITHER else None)
    if goal is not None:
        found["reference_goal"] = _text(goal, f"{place}: {GOAL if GOAL in value else EITHER}")
    topics = value.get(TOPICS)
    if topics is not None:
        found["reference_topics"] = tuple(
            _text(topic, f"{place}: {TOPICS}[{index}]")
            for index, topic in enumerate(items(topics, f"{place}: {TOPICS}"))
        )
    return found


def identity(value: Mapping[str, Any], place: str) -> str:
    """Return the record's own id, else its place."""
    key = next((key for key in IDS if value.get(key) is not None), None)
    if key is None:
        return place
    given = value[key]
    if isinstance(given, bool) or not isinstance(given, (str, int)):
        raise DataError(f"{place}: {key}: must be text or a number, not {kind(given)}")
    return str(given)


def read_tools(value: Any, place: str) -> dict[str, Mapping[str, Any]]:
    """Name of a tool -> JSON Schema of its arguments, from OpenAI's definitions or such a mapping.

    Raises:
        DataError: it is neither; names the key.
    """
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return {name: _schema(schema, f"{place}: tools.{name}") for name, schema in value.items()}
    found: dict[str, Mapping[str, Any]] = {}
    for index, tool in enumerate(items(value, f"{place}: tools")):
        at = f"{place}: tools[{index}]"
        if not isinstance(tool, Mapping):
            raise DataError(f"{at}: must be a tool's definition, not {kind(tool)}")
        function = tool.get("function", tool)
        if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
            if tool.get("type", "function") != "function":
                continue  # A tool that the vendor runs, such as a web search.
            raise DataError(f"{at}.function.name: must be the tool's name")
        schema: Any = next((function[key] for key in ("parameters", "input_schema") if function.get(key)), {})
        found[function["name"]] = _schema(schema, f"{at}.function.parameters")
    return found


def conversation_of(values: Sequence[Any], place: str) -> Sample:
    """Return the sample of a bare list of messages."""
    return read_record({"messages": values}, place)


def is_conversation(value: Any) -> bool:
    """Return whether a list is one conversation, and not a list of records."""
    return bool(value) and all(isinstance(item, Mapping) and is_message(item) and not is_record(item) for item in value)


def _record_messages(value: Mapping[str, Any], place: str) -> tuple[tuple[Message, ...] | None, str]:
    key = next((name for name in MESSAGES if value.get(name) is not None), "")
    if not key:
        return None, ""
    given = value[key]
    if key == "user_input" and isinstance(given, str):
        # A sample of a single turn.
        answer = _text(value.get(ANSWER) or "", f"{place}: {ANSWER}")
        return (Message("user", given), Message("assistant", answer)), key
    return read_messages(given, f"{place}: {key}"), key


def _format(value: Mapping[str, Any], key: str) -> str:
    if not key or any(value.get(name) is not None for name in CALLS):
        return "calls"
    if key == "user_input":
        return "ragas"
    typed = any(isinstance(message, Mapping) and "role" not in message for message in value[key])
    return "ragas" if typed else "openai"


def _steps(value: Any, place: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return value
    raise DataError(f"{place}: {STEPS}: must be an object with the output of each step, not {kind(value)}")


def _schema(value: Any, place: str) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    raise DataError(f"{place}: must be a JSON Schema, not {kind(value)}")


def _text(value: Any, place: str) -> str:
    if isinstance(value, str):
        return value
    raise DataError(f"{place}: must be text, not {kind(value)}")
