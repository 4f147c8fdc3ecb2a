"""Read conversations of every convention into one form; each convention has its own keys."""

from __future__ import annotations

import json
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from trialbed.errors import DataError
from trialbed.tool_calls import ToolCall as ToolCall
from trialbed.wire import finite_float, parse_json

Role = Literal["system", "user", "assistant", "tool"]


Reference = Sequence["ToolCall | Sequence[ToolCall]"]
"""The expected calls in order. An inner sequence is a parallel group with calls in any order."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a conversation.

    Attributes:
        content: its text; other parts appear by their kind, such as ``[image_url]``.
        calls: an assistant's calls; None if the message has no list of calls.
        call_id: the call that a tool's message answers; empty if unknown.
        failed: whether a tool's message has its protocol's flag for a failed call.
    """

    role: Role
    content: str = ""
    calls: tuple[ToolCall, ...] | None = None
    call_id: str = ""
    failed: bool = False


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A conversation, or its calls only, with the expected values.

    Attributes:
        id: its id in the file, or else its place.
        place: the file and line it was read from.
        format: the format it was read from.
        messages: None if the format has calls only.
        calls: every call that was made, in order.
        reference: the expected calls; None if unknown.
        reference_topics: the topics that the assistant should keep to.
        reference_goal: the outcome that the user wanted.
        tools: name of a tool -> JSON Schema of its arguments.
        steps: recorded outputs of a model's steps, by the step's name.
        unrecorded: the missing parts of the calls, in words; empty if complete.
        conversations: a trace's conversation or session ids, which other traces may share.
        began: when a trace began, as a text that sorts.
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
    unrecorded: str = ""
    conversations: tuple[str, ...] = ()
    began: str = ""

    @property
    def right_calls(self) -> tuple[ToolCall, ...]:
        """The calls of the reference, in one list."""
        parts = (part if isinstance(part, tuple) else (part,) for part in self.reference or ())
        return tuple(call for part in parts for call in part)


CONVENTIONS = tomllib.loads(Path(__file__).with_name("conventions.toml").read_text("utf-8"))
"""The table of conventions: the keys under which each keeps the parts of a conversation."""

KEYS: Mapping[str, list[str]] = CONVENTIONS["keys"]
ITEMS = CONVENTIONS["items"]["types"]
ROLES: Mapping[str, Role] = {given: role for role, names in CONVENTIONS["roles"].items() for given in names}
PARTS: Mapping[str, str] = {given: part for part, names in CONVENTIONS["parts"].items() for given in names}

NULL = "the arguments are null"


def first_of(fields: Mapping[str, Any], keys: Iterable[str]) -> str | None:
    """Return the first key that an object has a value for."""
    return next((key for key in keys if fields.get(key) is not None), None)


def read_call(value: Any, place: str = "call") -> ToolCall:
    """Return one call.

    Args:
        value: a ``ToolCall``; a mapping with ``name`` and ``args`` or ``arguments`` (an object or its JSON text), at
            the top or under ``function``; or an object with these attributes, such as Ragas's ``ToolCall``.
        place: its location, for errors.

    Raises:
        DataError: it has another form.
    """
    if type(value) is ToolCall:
        return value
    if not isinstance(value, Mapping):
        if not isinstance(getattr(value, "name", None), str) or not hasattr(value, "args"):
            raise DataError(f"{place}: must be a call with name and args, not {kind(value)}")
        value = {"name": value.name, "args": value.args, "id": getattr(value, "id", None)}
    given_id = value.get(first_of(value, KEYS["id"]) or "")
    call_id = given_id if isinstance(given_id, str) else ""
    for key in ("function", "tool_call"):  # OpenAI's; OpenInference's
        if isinstance(value.get(key), Mapping):
            inner = read_call(value[key], f"{place}.{key}")
            return replace(inner, id=call_id or inner.id)
    name = value.get(first_of(value, KEYS["name"]) or "name")
    if not isinstance(name, str):
        custom = value.get("custom")
        if isinstance(custom, Mapping) and isinstance(custom.get("name"), str):
            # OpenAI's custom tools take free text.
            return ToolCall(custom["name"], {"input": custom.get("input", "")}, call_id)
        raise DataError(f"{place}.name: must be the tool's name, not {kind(name)}")
    if value.get("type") == "custom_tool_call":
        return ToolCall(name, {"input": value.get("input", "")}, call_id)
    given = next((key for key in KEYS["arguments"] if key in value), None)
    if given is None:
        raise DataError(f"{place}.args: is missing; a call without arguments has an empty object")
    args, problem = _arguments(value[given], f"{place}.{given}")
    return ToolCall(name, args, call_id, problem)


def read_calls(value: Any, place: str = "calls") -> tuple[ToolCall, ...]:
    """Return the calls of a list.

    Raises:
        DataError: it is not a list of calls; names the place.
    """
    return tuple(read_call(call, f"{place}[{index}]") for index, call in enumerate(items(value, place)))


def read_reference(value: Any, place: str = "reference") -> tuple[ToolCall | tuple[ToolCall, ...], ...]:
    """Return the expected calls from a list; its inner lists are parallel groups.

    Raises:
        DataError: it is not such a list; names the place.
    """
    return tuple(
        tuple(_reference_call(one, f"{place}[{index}][{inner}]") for inner, one in enumerate(element))
        if type(element) is not dict and isinstance(element, Sequence) and not isinstance(element, (str, bytes))
        else _reference_call(element, f"{place}[{index}]")
        for index, element in enumerate(items(value, place))
    )


def _reference_call(value: Any, place: str) -> ToolCall:
    """Return a call. A tool's name alone, or ``null`` arguments, match any arguments."""
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
        DataError: it is not a list of objects; names the place.
    """
    for index, item in enumerate(items(value, place)):
        if not isinstance(item, Mapping):
            raise DataError(f"{place}[{index}]: must be an object, not {kind(item)}")
        yield f"{place}[{index}]", item


def _arguments(value: Any, place: str) -> tuple[Mapping[str, Any], str]:
    """Return the arguments, and the reason if they are invalid. Malformed JSON is the model's fault, not the file's."""
    if value is None:
        return {}, NULL
    if isinstance(value, str):
        shown = value if len(value) <= 200 else f"{value[:200]}…"
        try:
            value = parse_json(value, finite_float, unique=True) if value.strip() else {}
        except ValueError as error:
            return {}, f"the arguments are not JSON ({error}): {shown}"
        if not isinstance(value, dict):
            return {}, f"the arguments are {kind(value)}, not an object: {shown}"
    if not isinstance(value, Mapping):
        raise DataError(f"{place}: must be an object or its JSON text, not {kind(value)}")
    for key in value:
        if not isinstance(key, str):
            raise DataError(f"{place}: the name of an argument must be text, not {kind(key)}")
    return value, ""


def kind(value: Any) -> str:
    """Name the type of a value in words."""
    if value is None:
        return "nothing"
    names = {bool: "true or false", str: "text", dict: "an object", list: "a list", int: "a number", float: "a number"}
    return names.get(type(value), f"a value of type {type(value).__name__}")


def read_messages(value: Any, place: str = "messages", role: Role = "user") -> tuple[Message, ...]:
    """Return the messages of a list.

    Args:
        value: ``Message``s; objects with a role or type, content or parts, and calls, in any convention; items of
            Responses; or objects with attributes of these names.
        place: their location, for errors.
        role: for messages without role, type and calls.

    Raises:
        DataError: it is not a list of messages; names the place and key.
    """
    return tuple(
        message
        for index, item in enumerate(items(value, place))
        for message in _read_message(item, f"{place}[{index}]", role)
    )


def is_message(value: Any) -> bool:
    """Return whether a value looks like a message rather than like a call."""
    if isinstance(value, Mapping):
        if value.get("type") in ITEMS:
            return True
        if "function" in value or "args" in value or "arguments" in value:
            return False
        return bool({"role", "content", "parts", "kwargs"} & value.keys()) or str(value.get("type")) in ROLES
    return isinstance(value, Message) or hasattr(value, "content")


def calls_in(messages: Iterable[Message]) -> tuple[ToolCall, ...]:
    """Return every call that the assistant made, in order."""
    return tuple(call for message in messages if message.role == "assistant" for call in message.calls or ())


def join_steps(steps: Iterable[Iterable[Message]]) -> tuple[Message, ...]:
    """Return the messages of a conversation from steps that each repeat all or part of the earlier ones.

    A message, call or result is new if it occurs more often than in the earlier steps. Calls and results are identified
    by their id.
    """
    joined: list[Message] = []
    known: Counter[tuple[str, ...]] = Counter()
    for step in steps:
        seen: Counter[tuple[str, ...]] = Counter()
        for message in step:
            new = []
            for call in message.calls or ():
                key = ("call", call.id or f"{call.name} {json.dumps(call.args, sort_keys=True, default=str)}")
                seen[key] += 1
                if seen[key] > known[key]:
                    known[key] += 1
                    new.append(call)
            key = (message.role, message.call_id or message.content)
            seen[key] += 1
            says_more = bool(message.content or message.call_id) and seen[key] > known[key]
            if says_more:
                known[key] += 1
            if says_more or new:
                calls = None if message.calls is None else tuple(new)
                joined.append(replace(message, content=message.content if says_more else "", calls=calls))
    return tuple(joined)


def _unwrap(value: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the message within the objects that some programs put around it."""
    is_whole = value.get("role") is not None or any(
        isinstance(value.get(key), (str, list)) for key in ("content", "parts")
    )
    for key in () if is_whole else KEYS["wrappers"]:
        inner = value.get(key)
        if isinstance(inner, Mapping) and is_message(inner):
            # The class of LangChain's constructors ends their id.
            names = value.get("id") if key == "kwargs" else None
            named = str(names[-1]) if isinstance(names, list) and names else str(value.get("type"))
            form = named.removesuffix("Chunk").removesuffix("Message").lower()
            return _unwrap({"type": form, **inner} if form in ROLES else inner)
    return value


def _read_message(value: Any, place: str, default: Role) -> Iterator[Message]:
    """Yield the message, with the results of calls that some conventions put into it as messages of their own."""
    if type(value) is Message:
        yield value
        return
    fields = _unwrap(value) if isinstance(value, Mapping) else _attributes(value)
    if fields is None:
        raise DataError(f"{place}: must be a message with role and content, not {kind(value)}")
    if fields.get("type") in ITEMS:
        fields = {"role": "assistant", "content": [fields]}
    role = _role(fields, place, default)
    key = first_of(fields, KEYS["content"]) or "content"
    content = fields.get(key)
    if role == "tool" and not _has_parts(content):
        fields = {**fields, "content": [{**fields, "type": "tool_result"}]}
        key, content = "content", fields["content"]
    elif content is None or isinstance(content, str):
        content = [content] if content else []
    elif not isinstance(content, Sequence):
        raise DataError(f"{place}.{key}: must be text or a list of parts, not {kind(content)}")
    texts: list[str] = []
    calls: list[ToolCall] = []
    before: list[Message] = []
    after = before if role != "assistant" else []
    for index, given in enumerate(content):
        at = f"{place}.{key}[{index}]"
        meaning, part = _part(given, at)
        if meaning == "call":
            calls.append(read_call(part, at))
        elif meaning in ("result", "failure"):
            after.append(read_result(part))
        elif meaning == "system":
            before.append(Message("system", _as_text(part.get("content"))))
        elif meaning == "text":
            texts.append(_as_text(part.get("text", part.get("content"))))
        elif meaning != "skipped":
            texts.append(f"[{meaning}]")
    listed = _listed_calls(fields, place)
    text = "\n".join(filter(None, texts))
    yield from before
    if role == "tool" and (texts or not (before or calls)):
        yield replace(read_result(fields), content=text)
    elif (role != "tool" and (text or not (before or after))) or calls or listed is not None:
        # LangChain and others keep a call among the parts and in the list.
        ids = {call.id for call in listed or ()}
        more = [call for call in calls if not ids or (call.id and call.id not in ids)]
        made = None if listed is None and not calls else (*(listed or ()), *more)
        yield Message("assistant" if made and role == "tool" else role, text, made)
    yield from after if after is not before else ()


def _has_parts(content: Any) -> bool:
    """Return whether a tool's message has parts, and not a result that is a list."""
    return isinstance(content, list) and all(
        isinstance(part, Mapping) and (part.keys() & {"type", "part_kind"} or first_of(part, PARTS)) for part in content
    )


def _attributes(value: Any) -> Mapping[str, Any] | None:
    if not hasattr(value, "content"):
        return None
    names = ("role", "type", "content", "tool_calls", "tool_call_id", "status", "additional_kwargs")
    return {name: getattr(value, name) for name in names if hasattr(value, name)}


def _role(fields: Mapping[str, Any], place: str, default: Role) -> Role:
    key = first_of(fields, KEYS["role"])
    if key is None:
        # As Ragas reads messages without a type.
        return "assistant" if first_of(fields, KEYS["calls"]) else default
    role = ROLES.get(fields[key]) if isinstance(fields[key], str) else None
    if role is None:
        raise DataError(f"{place}.{key}: must be one of {', '.join(ROLES)}, not {fields[key]!r:.100}")
    return role


def _listed_calls(fields: Mapping[str, Any], place: str) -> tuple[ToolCall, ...] | None:
    key = first_of(fields, KEYS["calls"]) or "tool_calls"
    calls = fields.get(key)
    if not calls:
        # LangChain keeps calls that it could not parse, and those of older versions, in another place.
        kwargs = fields.get("additional_kwargs")
        calls = (kwargs.get("tool_calls") if isinstance(kwargs, Mapping) else None) or calls
    if calls is not None:
        return read_calls(load(calls, f"{place}.{key}"), f"{place}.{key}")
    single = fields.get("function_call")
    return None if single is None else (read_call(single, f"{place}.function_call"),)


def load(value: Any, place: str) -> Any:
    """Return the value of a JSON text; any other value unchanged.

    Raises:
        DataError: it is not JSON; names the place.
    """
    try:
        return parse_json(value, finite_float, unique=True) if isinstance(value, str) else value
    except ValueError as error:
        raise DataError(f"{place}: is not JSON: {error}") from None


def _part(given: Any, place: str) -> tuple[str, Mapping[str, Any]]:
    """Return the meaning of a content part, or its kind if unknown, and its fields."""
    if isinstance(given, str):
        return "text", {"text": given}
    if not isinstance(given, Mapping):
        raise DataError(f"{place}: must be text or an object with a type, not {kind(given)}")
    part = given.get("message_content", given)  # OpenInference's
    form = part.get("type", part.get("part_kind"))
    if form is None:
        # Gemini, ADK and Bedrock: the key is the kind.
        form = first_of(part, PARTS) or first_of(part, part)
        part = part[form] if form and isinstance(part[form], Mapping) else part
    if not isinstance(form, str):
        raise DataError(f"{place}.type: must be the kind of the part, not {kind(form)}")
    if part.get("thought") is True or (form == "retry-prompt" and not part.get("tool_name")):
        return "skipped", part
    meaning = PARTS.get(form, form)
    return meaning, {**part, "is_error": True} if meaning == "failure" else part


def read_result(part: Mapping[str, Any]) -> Message:
    """Return the result of a call as the message of a tool."""
    said = part.get(first_of(part, KEYS["result"]) or "")
    failed = any(part.get(flag) is True for flag in KEYS["failed"])
    failed = failed or any(part.get(key) in states for key, states in CONVENTIONS["failures"].items())
    if isinstance(said, Mapping):
        failed = failed or said.get("isError") is True  # MCP's
        if {"type", "value"} == said.keys():  # the Vercel AI SDK's
            failed, said = failed or str(said["type"]).startswith("error"), said["value"]
    call_id = part.get(first_of(part, KEYS["id"]) or "")
    return Message("tool", _as_text(said), None, call_id if isinstance(call_id, str) else "", failed)


def _as_text(value: Any) -> str:
    """Return a text, the texts of a list of parts, or any other value as JSON."""
    parts = value if isinstance(value, list) and all(isinstance(part, Mapping) for part in value) else []
    if parts and all("text" in part or part.get("type") in KEYS["media"] for part in parts):
        return "\n".join(_as_text(part["text"]) if "text" in part else f"[{part['type']}]" for part in parts)
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, default=str)


EITHER = "reference"
"""The calls that are right, as a list, or, as in Ragas, the outcome in words."""


def is_record(value: Mapping[str, Any]) -> bool:
    """Return whether an object is a record in any of these formats."""
    return any(key in value for key in (*KEYS["predicted"], *KEYS["messages"]))


def read_record(value: Mapping[str, Any], place: str) -> Sample:
    """Return the sample of a record.

    Raises:
        DataError: a key has a wrong value; names it.
    """
    key = first_of(value, KEYS["messages"])
    made = first_of(value, KEYS["predicted"])
    if made is None and key is None:
        raise DataError(f"{place}: has neither calls ({' or '.join(KEYS['predicted'])}) nor messages")
    given = value[key] if key else None
    if key == "user_input" and isinstance(given, str):  # a sample of a single turn
        answer = check_type(value.get("response") or "", str, f"{place}: response", "text")
        given = [Message("user", given), Message("assistant", answer)]
    elif key == "events" and isinstance(given, list):  # ADK's, of which some say nothing
        given = [one for one in given if not isinstance(one, Mapping) or one.get("content") is not None]
    messages = read_messages(given, f"{place}: {key}") if key else None
    return Sample(
        id=identity(value, place),
        place=place,
        format="calls" if made else "messages",
        messages=messages,
        calls=read_calls(value[made], f"{place}: {made}") if made else calls_in(messages or ()),
        tools=read_tools(next((value[name] for name in KEYS["tools"] if name in value), None), f"{place}: tools"),
        steps=check_type(
            value.get("llm_outputs") or {}, Mapping, f"{place}: llm_outputs", "an object with the output of each step"
        ),
        **references(value, place),
    )


def references(value: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return the expected values of a record as fields of a sample.

    Raises:
        DataError: a key has a wrong value; names it.
    """
    found: dict[str, Any] = {}
    name = first_of(value, [*KEYS["references"], *([EITHER] if isinstance(value.get(EITHER), (list, tuple)) else ())])
    if name is not None:
        found["reference"] = read_reference(value[name], f"{place}: {name}")
    goal = "reference_goal" if "reference_goal" in value else EITHER
    if goal != name and value.get(goal) is not None:
        found["reference_goal"] = check_type(value[goal], str, f"{place}: {goal}", "text")
    if (topics := value.get("reference_topics")) is not None:
        at = f"{place}: reference_topics"
        texts = (check_type(one, str, f"{at}[{index}]", "text") for index, one in enumerate(items(topics, at)))
        found["reference_topics"] = tuple(texts)
    return found


def identity(value: Mapping[str, Any], place: str) -> str:
    """Return the record's own id, else its place."""
    key = first_of(value, KEYS["ids"])
    if key is None:
        return place
    given = value[key]
    if isinstance(given, bool) or not isinstance(given, (str, int)):
        raise DataError(f"{place}: {key}: must be text or a number, not {kind(given)}")
    return str(given)


def read_tools(value: Any, place: str) -> dict[str, Mapping[str, Any]]:
    """Name of a tool -> JSON Schema of its arguments, from definitions of any convention or such a mapping.

    Raises:
        DataError: it is neither; names the key.
    """
    if value is None:
        return {}
    if isinstance(value, Mapping):
        return {name: check_type(schema, Mapping, f"{place}.{name}", "a JSON Schema") for name, schema in value.items()}
    found: dict[str, Mapping[str, Any]] = {}
    for index, tool in enumerate(items(value, place)):
        at = f"{place}[{index}]"
        given = load(tool, at)
        if not isinstance(given, Mapping):
            raise DataError(f"{at}: must be a tool's definition, not {kind(given)}")
        form = given.get("type", "function")
        for key in ("tool", "json_schema", "function"):  # OpenInference's two; OpenAI's
            inner = load(given[key], f"{at}.{key}") if key == "json_schema" and key in given else given.get(key)
            if isinstance(inner, Mapping) and {"name", "function", "json_schema"} & inner.keys():
                given = inner
        if not isinstance(given.get("name"), str):
            if form != "function":
                continue  # A tool that the vendor runs, such as a web search.
            raise DataError(f"{at}.function.name: must be the tool's name")
        key = next((key for key in KEYS["schema"] if given.get(key)), "parameters")
        found[given["name"]] = check_type(
            load(given.get(key, {}), f"{at}.function.{key}"), Mapping, f"{at}.function.{key}", "a JSON Schema"
        )
    return found


def is_conversation(value: Any) -> bool:
    """Return whether a list is one conversation, and not a list of records."""
    return bool(value) and all(isinstance(item, Mapping) and is_message(item) and not is_record(item) for item in value)


def check_type(value: Any, form: Any, place: str, words: str) -> Any:
    """Return a value that has a type.

    Raises:
        DataError: it has another; says so in words.
    """
    if isinstance(value, form):
        return value
    raise DataError(f"{place}: must be {words}, not {kind(value)}")
