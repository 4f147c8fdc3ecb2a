"""Reads records that say themselves what they hold: calls, Ragas samples, and OpenAI's lists of messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trialbed.errors import DataError
from trialbed_evaluation.conversations._calls import items, kind, read_calls, read_reference
from trialbed_evaluation.conversations._messages import calls_in, is_message, read_messages
from trialbed_evaluation.conversations._types import Message, Sample

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
    messages, key = _messages(value, place)
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


def _messages(value: Mapping[str, Any], place: str) -> tuple[tuple[Message, ...] | None, str]:
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
