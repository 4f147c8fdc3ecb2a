"""The way of a conversation through several dialects, and what does not survive it."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.dialects import CALLS, TEXT
from support.examples import examples

from trialbed.wire import Call, ModelMessage, OfferedTool, translate_request
from trialbed.wire.dialects import CHAT, PATHS, dialect

TOOL = OfferedTool("find", "Finds.", {"type": "object", "properties": {"id": {"type": "integer"}}})


@st.composite
def conversations(draw: st.DrawFn) -> list[ModelMessage]:
    """A conversation that every dialect can hold: each call has its result."""
    messages = [ModelMessage(role="system", content=draw(TEXT)), ModelMessage(role="user", content=draw(TEXT))]
    for turn in range(draw(st.integers(0, 2))):
        calls = [Call(made.name, made.arguments, f"call_{turn}{made.id}") for made in draw(CALLS)]
        messages.append(ModelMessage(content=draw(TEXT), calls=tuple(calls)))
        messages += [ModelMessage(role="tool", content=draw(TEXT), call_id=made.id) for made in calls]
        messages.append(ModelMessage(role="user", content=draw(TEXT)))
    return messages


def told(messages: Any) -> Any:
    """What a conversation says; arguments that are JSON are compared as such."""
    return [
        (
            message.role,
            message.text,
            message.call_id,
            [(call.name, value(call.arguments), call.id) for call in message.calls],
        )
        for message in messages
    ]


def value(arguments: str) -> Any:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments


@given(conversations(), st.lists(st.sampled_from(sorted(set(PATHS.values()))), min_size=1, max_size=4))
@settings(max_examples=examples(0.5))
def test_a_conversation_survives_the_way_through_any_dialects(messages: list[ModelMessage], way: list[str]) -> None:
    read: Any = None
    given_messages, tools = messages, [TOOL]
    for name in way:
        spoken = dialect(name)
        read = spoken.read_request(spoken.write_request("m", given_messages, {"max_tokens": 9}, tools))
        given_messages, tools = list(read.messages), list(read.tools)
    assert told(read.messages) == told(messages)
    assert (read.tools, read.generation.max_tokens, read.model) == ((TOOL,), 9, "m")


ASKED: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": []}
INPUT: dict[str, Any] = {"model": "m", "input": "hi"}


@pytest.mark.parametrize(
    ("name", "document", "words"),
    [
        ("messages", {**ASKED, "top_k": 5}, "'top_k'"),
        ("messages", {**ASKED, "thinking": {"type": "enabled", "budget_tokens": 9}}, "'thinking'"),
        ("messages", {**ASKED, "output_config": {"budget": 3}}, "'output_config.budget'"),
        ("messages", {**ASKED, "messages": [{"role": "user", "content": [{"type": "document"}]}]}, "'document'"),
        ("responses", {**INPUT, "max_tool_calls": 2}, "'max_tool_calls'"),
        ("responses", {**INPUT, "input": [{"type": "item_reference", "id": "x"}]}, "role"),
        ("responses", {**INPUT, "reasoning": {"context": "all"}}, "'reasoning.context'"),
    ],
)
def test_what_has_no_counterpart_is_refused_by_name(name: str, document: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        translate_request(dialect(name).read_request(document))


CHAT_ASKED: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


@pytest.mark.parametrize(
    ("goal", "more", "words"),
    [
        ("messages", {"n": 2}, "Messages have no counterpart of 'n'"),
        ("messages", {"logprobs": True}, "'top_logprobs'"),
        ("messages", {"verbosity": "low"}, "'verbosity'"),
        ("messages", {"response_format": {"type": "json_object"}}, "JSON of any kind"),
        ("messages", {"messages": [{"role": "user", "content": [{"type": "input_audio"}]}]}, "'input_audio'"),
        ("responses", {"stop": "END"}, "Responses have no counterpart of 'stop'"),
        ("responses", {"logit_bias": {"5": 1}}, "'logit_bias'"),
        ("responses", {"tools": [{"type": "custom", "custom": {"name": "x"}}]}, r"'tools\[0\]'"),
        ("responses", {"response_format": {"type": "grammar"}}, "'response_format'"),
        ("responses", {"messages": [{"role": "assistant", "content": [{"type": "refusal"}]}]}, "'refusal'"),
    ],
)
def test_what_another_dialect_lacks_is_refused_by_name(goal: str, more: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        translate_request(dialect(CHAT).read_request({**CHAT_ASKED, **more}), goal)


@pytest.mark.parametrize("goal", ["messages", "responses"])
def test_all_that_is_asked_in_a_chat_is_translated(goal: str) -> None:
    schema = {"type": "object", "properties": {}}
    asked = {
        **CHAT_ASKED,
        "temperature": 0.5,
        "top_p": 0.5,
        "max_completion_tokens": 9,
        "seed": 7,
        "n": 1,
        "frequency_penalty": 0,
        "user": "1",
        "stream": True,
        "reasoning_effort": "low",
        "parallel_tool_calls": False,
        "tools": [{"type": "function", "function": {"name": "find", "parameters": schema, "strict": True}}],
        "tool_choice": {"type": "function", "function": {"name": "find"}},
        "response_format": {"type": "json_schema", "json_schema": {"name": "r", "strict": True, "schema": schema}},
    }
    read = dialect(CHAT).read_request(asked)
    found = dialect(goal).read_request(translate_request(read, goal))
    assert (found.problem, found.conflict, found.stream) == ("", "", True)
    assert found.generation == replace(read.generation, seed=None)
    assert (found.tool_choice, found.tools[0].source["strict"]) == (read.tool_choice, True)


def test_what_only_its_own_dialect_can_read_does_not_pass() -> None:
    # A field of a careless framework that another dialect would take for its own items.
    message = {"role": "assistant", "content": "Yes.", "items": [{"type": "message", "content": "No."}]}
    asked = dialect(CHAT).read_request({**CHAT_ASKED, "messages": [message]})
    (item,) = translate_request(asked, "responses")["input"]
    assert item["content"][0]["text"] == "Yes."


def test_all_that_is_asked_of_a_model_is_translated() -> None:
    schema = {"type": "object"}
    messages = {
        **ASKED,
        "temperature": 0,
        "top_p": 0.5,
        "stop_sequences": ["END"],
        "thinking": {"type": "disabled"},
        "metadata": {"user_id": "1"},
        "tools": [{"name": "find", "input_schema": schema}],
        "tool_choice": {"type": "tool", "name": "find", "disable_parallel_tool_use": True},
        "output_config": {"format": {"type": "json_schema", "schema": schema}, "effort": "low"},
    }
    chat = dialect(CHAT).read_request(translate_request(dialect("messages").read_request(messages)))
    read = dialect("messages").read_request(messages)
    assert (chat.generation, chat.tool_choice) == (read.generation, read.tool_choice)
    responses = {
        **INPUT,
        "max_output_tokens": 9,
        "include": [],
        "reasoning": {},
        "truncation": "disabled",
        "tools": [{"type": "function", "name": "find", "parameters": schema}],
        "tool_choice": {"type": "allowed_tools", "mode": "required", "tools": [{"type": "function", "name": "find"}]},
        "text": {"format": {"type": "json_object"}, "verbosity": "low"},
    }
    asked = dialect("responses").read_request(responses)
    chat = dialect(CHAT).read_request(translate_request(asked))
    assert (chat.generation, chat.tool_choice.name) == (asked.generation, "find")
    assert chat.document["verbosity"] == "low"


def test_a_result_that_is_an_error_says_so() -> None:
    result = {"type": "tool_result", "tool_use_id": "t", "content": "no such city", "is_error": True}
    use = {"type": "tool_use", "id": "t", "name": "find", "input": {}}
    turns = [{"role": "assistant", "content": [use]}, {"role": "user", "content": [result]}]
    written = translate_request(dialect("messages").read_request({**ASKED, "messages": turns}))
    assert written["messages"][1] == {"role": "tool", "tool_call_id": "t", "content": "Error: no such city"}


def test_what_many_endpoints_refuse_is_left_out() -> None:
    thought = {"type": "thinking", "thinking": "I look.", "signature": "s"}
    turns = [{"role": "assistant", "content": [thought, {"type": "text", "text": "Wait."}]}]
    written = translate_request(dialect("messages").read_request({**ASKED, "messages": turns}))
    assert written["messages"] == [{"role": "assistant", "content": "Wait."}]
    alone = translate_request(dialect("responses").read_request({**INPUT, "parallel_tool_calls": False}))
    assert "parallel_tool_calls" not in alone
