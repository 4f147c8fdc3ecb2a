"""Conversations as lists of messages, Ragas samples, lines of calls and result documents."""

from __future__ import annotations

from pathlib import Path

from support.conversations import CALL, OPENAI, RAGAS, TOOL, only, written

from trialbed_evaluation.conversations import ToolCall
from trialbed_evaluation.metrics import tool_call_f1


def test_openai_messages_are_whole(tmp_path: Path) -> None:
    sample = only(written(tmp_path, {"messages": OPENAI, "tools": [TOOL], "user": 5}))
    assert sample.messages is not None
    assert [message.role for message in sample.messages] == ["system", "user", "assistant", "tool", "assistant"]
    assert sample.messages[1].content == "weather?\n[image_url]"
    assert sample.messages[3].call_id == "c1"
    assert sample.calls[1].args == {}
    assert '{"city": "Ro' in sample.calls[1].problem
    assert sample.tools == {"weather": TOOL["function"]["parameters"]}  # type: ignore[index]


def test_openai_s_custom_tools_take_text(tmp_path: Path) -> None:
    call = {"id": "c1", "type": "custom", "custom": {"name": "python", "input": "print(1)"}}
    sample = only(written(tmp_path, {"messages": [{"role": "assistant", "content": None, "tool_calls": [call]}]}))
    assert sample.calls == (ToolCall("python", {"input": "print(1)"}, "c1"),)


def test_groups_and_names_in_a_reference(tmp_path: Path) -> None:
    sample = only(written(tmp_path, {"predicted": [], "reference": [[CALL, "rate"], "book"]}))
    city = ToolCall("weather", {"city": "Rome"})
    assert sample.reference == ((city, ToolCall("rate", None)), ToolCall("book", None))


def test_a_reference_in_words_is_a_goal(tmp_path: Path) -> None:
    sample = only(written(tmp_path, {"user_input": RAGAS, "reference": "It rained.", "reference_topics": ["weather"]}))
    assert (sample.reference_goal, sample.reference_topics, sample.reference) == ("It rained.", ("weather",), None)


def test_a_sample_of_one_turn(tmp_path: Path) -> None:
    sample = only(written(tmp_path, {"user_input": "weather?", "response": "Sunny."}))
    assert sample.messages is not None
    assert [(message.role, message.content) for message in sample.messages] == [
        ("user", "weather?"),
        ("assistant", "Sunny."),
    ]


def test_null_arguments_of_a_call_made_are_none_and_those_of_a_reference_any(tmp_path: Path) -> None:
    sample = only(
        written(tmp_path, {"predicted": [{"name": "f", "args": None}], "reference": [{"name": "f", "args": None}]})
    )
    assert sample.calls == (ToolCall("f", {}, "", "the arguments are null"),)
    assert sample.reference == (ToolCall("f", None),)
    assert tool_call_f1([{"name": "f", "args": None}], [{"name": "f", "args": {"x": 1}}]).value == 0.0
