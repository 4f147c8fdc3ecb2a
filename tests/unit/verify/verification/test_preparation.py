from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each

from trialbed.errors import UsageError
from trialbed_verify.verification import RequestSettings, endpoint_target, load_adapter
from trialbed_verify.verification.targets import PreparedRequest

LINE = {"messages": [{"role": "user", "content": "hé"}], "tools": [{"type": "function"}], "temperature": 0.3}


def prepared(line: dict[str, Any] = LINE, model_type: str | None = None, **settings: Any) -> PreparedRequest:
    chosen = RequestSettings(model=settings.pop("model", "m"), **settings)
    return endpoint_target("http://x", "k", chosen, model_type, Path("r.jsonl"), Path("s.json")).prepare(line)


def test_a_line_is_sent_as_it_is_but_for_the_model() -> None:
    assert prepared().request == {**LINE, "model": "m"}
    assert "model" not in LINE


def test_settings_replace_the_lines_own() -> None:
    request = prepared(temperature=0.0, max_tokens=9).request
    assert (request["temperature"], request["max_tokens"]) == (0.0, 9)


@for_each(
    ("given", "sent"),
    [
        (None, {"include_usage": True}),
        ({"include_usage": False}, {"include_usage": False}),
        ({"x": 1}, {"include_usage": True, "x": 1}),
        ("odd", {"include_usage": True}),
    ],
)
def test_a_stream_is_asked_for_its_usage_unless_the_line_says_otherwise(given: Any, sent: Any) -> None:
    line = {**LINE, "stream": True} | ({"stream_options": given} if given is not None else {})
    assert prepared(line).request["stream_options"] == sent


def test_the_extra_body_wins_and_is_no_part_of_the_request() -> None:
    made = prepared(extra_body={"temperature": 1.0, "provider": {"only": ["x"]}})
    assert made.request["temperature"] == 0.3
    assert made.sent == {**made.request, "temperature": 1.0, "provider": {"only": ["x"]}}


def test_the_tools_on_offer_are_those_that_are_sent() -> None:
    own = {"type": "function", "function": {"name": "own"}}
    assert prepared(extra_body={"tools": [own]}).tools == [own]
    assert prepared({"messages": [], "functions": [own["function"]]}).tools == [own]
    assert prepared().tools == LINE["tools"]


def test_a_stream_asked_for_by_the_extra_body_is_read_as_one() -> None:
    made = prepared(extra_body={"stream": True})
    assert made.stream
    assert made.sent["stream_options"] == {"include_usage": True}


def test_the_hash_is_that_of_the_k2_style_tools() -> None:
    text = json.dumps({**LINE, "model": "m"}, sort_keys=True, ensure_ascii=False)
    assert prepared().digest == hashlib.md5(text.encode()).hexdigest()
    assert prepared(extra_body={"a": 1}).digest == prepared().digest


@for_each("model", ["kimi-k2", "Moonshot-v1", "moonshotai/Kimi-K2"])
def test_kimi_models_get_their_roles_and_blank_reasoning(model: str) -> None:
    call = {"role": "assistant", "tool_calls": [{"id": "1"}]}
    line = {"messages": [{"role": "_input", "content": "x"}, call, {**call, "reasoning_content": "hm"}]}
    messages = prepared(line, model=model).request["messages"]
    assert messages == [
        {"role": "system", "content": "x"},
        {**call, "reasoning_content": " "},
        {**call, "reasoning_content": "hm"},
    ]
    assert line["messages"][0]["role"] == "_input"


def test_other_models_keep_their_roles_unless_told() -> None:
    line = {"messages": [{"role": "_input", "content": "x"}]}
    assert prepared(line).request["messages"][0]["role"] == "_input"
    assert prepared(line, model_type="kimi").request["messages"][0]["role"] == "system"


def test_a_generic_model_has_no_raw_completions() -> None:
    with pytest.raises(UsageError, match="raw completions"):
        prepared(tokenizer="some/tokenizer")


def test_the_calls_of_a_raw_completion_are_found_in_its_text() -> None:
    _, adapter = load_adapter("kimi", "")
    call = "<|tool_call_begin|>functions.get-weather:0<|tool_call_argument_begin|>{}<|tool_call_end|>"
    text = f"Sure.<|tool_calls_section_begin|>{call}{call.replace(':0', ':1')}<|tool_calls_section_end|>"
    rest, calls = adapter.calls_of(text)
    assert rest == "Sure."
    assert [(made["id"], made["function"]["name"]) for made in calls] == [
        ("functions.get-weather:0", "get-weather"),
        ("functions.get-weather:1", "get-weather"),
    ]
    assert adapter.calls_of("<|tool_calls_section_begin|>" + call) == ("<|tool_calls_section_begin|>" + call, [])


ODD_VALUES = (1e16, 1e-5, 1e400, -0.0, 2**70, "\ud800", "é\u2028\x7f", None, {"b": [1.5, 0.1], "a": {}})


@for_each("odd", ODD_VALUES, ids=repr)
def test_the_hash_is_that_of_k2_style_tools_whatever_the_tools_hold(odd: Any) -> None:
    request = prepared({**LINE, "tools": [{"z": odd, "a": "x"}], "odd": odd}).request
    text = json.dumps(request, sort_keys=True, ensure_ascii=False)
    wanted = hashlib.md5(text.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
    assert prepared({**LINE, "tools": [{"z": odd, "a": "x"}], "odd": odd}).digest == wanted
