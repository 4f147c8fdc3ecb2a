"""Calls, thoughts and markup where they do not belong."""

from __future__ import annotations

import json
from typing import Any

from support.cases import for_each
from support.written_calls import OTHERS, PUBLIC, THOUGHTS, TOOL, honest_answers

from trialbed_verify.findings import findings


def kinds(message: dict[str, Any], reason: str = "stop", tool: dict[str, Any] = TOOL) -> dict[str, str]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": reason}
    row = {
        "status": "success",
        "finish_reason": reason,
        "request": {"model": "m", "messages": [{"role": "user", "content": "How is it in Oslo?"}], "tools": [tool]},
        "response": {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]},
    }
    return {found.kind: found.message for found in findings(row)}


def with_arguments(arguments: str, *, calls: str = "get_weather") -> dict[str, str]:
    call = {"id": "1", "type": "function", "function": {"name": calls, "arguments": arguments}}
    return kinds({"content": None, "tool_calls": [call]}, "tool_calls")


@for_each("name", PUBLIC)
def test_a_call_is_found_in_the_text_and_in_the_reasoning(name: str) -> None:
    assert "call_in_text" in kinds({"content": PUBLIC[name]})
    if name != "react without a key":
        found = kinds({"content": "", "reasoning_content": f"I call it. {PUBLIC[name]}"})
        assert {"call_in_reasoning", "empty_answer"} <= set(found)


@for_each(
    ("name", "parser"),
    [
        ("hermes", "Hermes"),
        ("dsml, double bar", "DeepSeek V3.2"),
        ("groq", "Llama 3 or Groq"),
        ("harmony without tokens", "harmony (gpt-oss)"),
        ("granite", "Granite or Phi-4"),
        ("lfm", "LFM2"),
        ("seed", "Seed"),
        ("qwen coder", "Qwen3-Coder"),
        ("glm", "GLM"),
        ("args", "Mistral"),
        ("a new tag", "unknown"),
    ],
)
def test_the_probable_parser_is_named(name: str, parser: str) -> None:
    assert kinds({"content": {**PUBLIC, **OTHERS}[name]})["call_in_text"].endswith(f"its form: {parser}")


def test_honest_answers_have_no_finding_of_a_call() -> None:
    wrong = {"call_in_text", "call_in_reasoning", "leaked_tool_call", "leaked_thinking", "leaked_tokens"}
    for tool, text in honest_answers():
        assert not wrong & set(kinds({"content": text}, tool=tool)), text
        assert not wrong & set(kinds({"content": "", "reasoning_content": text}, tool=tool)), text


@for_each("name", THOUGHTS)
def test_thoughts_are_found_in_the_text(name: str) -> None:
    # An answer in tags is no thought.
    assert ("leaked_thinking" in kinds({"content": THOUGHTS[name]})) == (name != "hy")


@for_each(
    "value", ["Oslo</\uff5cDSML\uff5cparameter>", "Oslo</arg_value>", "Oslo</parameter>", "Oslo</city>\n</invoke>"]
)
def test_markup_that_ends_an_argument_is_found(value: str) -> None:
    assert "markup_in_arguments" in with_arguments(json.dumps({"city": value}))


@for_each("value", ["<city>Oslo</city>", "a </b> c", "<p>Oslo</p>", '<parameter name="x">Oslo</parameter>', "1 </ 2"])
def test_markup_that_an_argument_has_as_its_value_is_fine(value: str) -> None:
    assert "markup_in_arguments" not in with_arguments(json.dumps({"city": value}))


def test_a_call_in_a_failed_generation_is_found() -> None:
    body = {"error": {"message": "Failed to call a function.", "failed_generation": PUBLIC["groq"]}}
    row = {
        "status": "failed",
        "request": {"model": "m", "tools": [TOOL]},
        "problem": {"kind": "http_400", "message": f"HTTP status 400: {json.dumps(body)}"},
    }
    (found,) = findings(row)
    assert found.kind == "call_in_text"
    assert "failed_generation" in found.message
