"""What is recorded of a request, and how its response is written."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, cast

from support.cases import for_each

from trialbed.records import ApiRef, ToolSpec, Usage
from trialbed.wire.dialects import dialect
from trialbed_scripted import Response
from trialbed_server.gateway.exchange import RecordedExchange, ResponseWriter, observe
from trialbed_server.trials import LogBudget


def stream(*documents: Any) -> bytes:
    return b"".join(b"data: " + json.dumps(document).encode() + b"\n\n" for document in documents) + b"data: [DONE]\n\n"


def call(name: str, arguments: Any) -> bytes:
    function = {"name": name, "arguments": arguments}
    return json.dumps({"choices": [{"message": {"tool_calls": [{"function": function}]}}]}).encode()


@for_each(
    ("name", "arguments", "problem"),
    [
        ("known", "{}", None),
        ("other", "{}", "unknown tool"),
        ("known", "{", "invalid json"),
        ("known", "", "invalid json"),
        ("known", "[1]", "not an object"),
        ("known", {"a": 1}, None),
    ],
)
def test_the_problem_of_a_call(name: str, arguments: Any, problem: str | None) -> None:
    (sent,) = observe(dialect(), call(name, arguments), {"known"}, stream=False).tool_calls
    assert sent.problem == problem


@for_each("as_list", [False, True])
@for_each("offered", [("look_up",), ()])
def test_calls_written_as_text_are_seen_and_those_sent_are_not_seen_twice(
    as_list: bool, offered: tuple[str, ...]
) -> None:
    text = '<tool_call>{"name": "look_up", "arguments": {"a": 1}}</tool_call> {"name": "look_up", "arguments": {"a":2}}'
    content = [{"type": "text", "text": text}] if as_list else text
    sent = [{"id": "c", "type": "function", "function": {"name": "look_up", "arguments": '{"a":1}'}}]
    message = {"role": "assistant", "content": content, "tool_calls": sent}
    document = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    seen = observe(dialect(), json.dumps(document).encode(), offered, stream=False, described={"look_up": {}})
    assert [call.arguments for call in seen.tool_calls] == ['{"a":1}']
    assert [(call.arguments, call.problem) for call in seen.text_calls] == [('{"a": 2}', None)]


@for_each(
    ("body", "cause"),
    [
        (b"\x00\xff<html>Bad gateway", "endpoint"),
        (b'{"choices": [', "endpoint"),
        (b"upstream connect error", "endpoint"),
        (b'{"choices": [], "created": NaN}', None),
        (b"[]", None),
    ],
)
def test_what_no_client_can_read_is_the_endpoints_fault(body: bytes, cause: str | None) -> None:
    assert observe(dialect(), body, (), stream=False).cause == cause


@for_each(
    ("more", "completion", "cached", "reasoning"),
    [
        ({"total_tokens": 140, "prompt_tokens_details": {"cached_tokens": 64}}, 40, 64, 0),
        ({"total_tokens": 140, "completion_tokens_details": {"reasoning_tokens": 30}}, 40, 0, 30),
        # A vendor that counts thoughts beside its completion.
        ({"total_tokens": 170, "completion_tokens_details": {"reasoning_tokens": 30}}, 70, 0, 30),
        ({"total_tokens": 140, "prompt_cache_hit_tokens": 80, "prompt_cache_miss_tokens": 20}, 40, 80, 0),
        ({"total_tokens": 140, "cached_tokens": 50}, 40, 50, 0),
        ({"prompt_tokens_details": {"cached_tokens": 5000}}, 40, 100, 0),
        ({"prompt_tokens_details": None, "completion_tokens_details": {"reasoning_tokens": "many"}}, 40, 0, 0),
    ],
)
def test_cached_tokens_and_thoughts_are_read(
    more: dict[str, Any], completion: int, cached: int, reasoning: int
) -> None:
    body = json.dumps({"choices": [], "usage": {"prompt_tokens": 100, "completion_tokens": 40} | more}).encode()
    usage = observe(dialect(), body, set(), stream=False).usage
    assert usage == Usage(
        prompt_tokens=100, completion_tokens=completion, cached_tokens=cached, reasoning_tokens=reasoning
    )


def test_calls_in_code_are_those_of_the_tools_that_a_prompt_names_as_functions() -> None:
    tools = [
        ToolSpec(name=name, description="", parameters={}, api=ApiRef(category="C", tool_name="T", api_name=name))
        for name in ("look-up", "find")
    ]
    content = "<code>\nprint(look_up(a=1))\nprint(find())\n</code>"
    exchange = RecordedExchange(lambda: 0.0, LogBudget(), b"{}", tools)
    exchange.began(200, events=False)
    exchange.wrote(json.dumps({"choices": [{"message": {"content": content}, "finish_reason": "stop"}]}).encode())
    seen = exchange.record().text_calls
    assert [(call.name, call.tool_name, call.arguments) for call in seen] == [
        ("look_up", "look-up", '{"a": 1}'),
        ("find", "find", "{}"),
    ]


def test_tokens_that_are_not_reported_are_estimated() -> None:
    exchange = RecordedExchange(lambda: 0.0, LogBudget(), b"x" * 40)
    exchange.began(200, events=True)
    exchange.wrote(b"data: {}\n\ndata: {}\n\n")
    assert exchange.used() == Usage(prompt_tokens=10, completion_tokens=2)


def test_the_seconds_of_a_slow_fault_are_not_the_models() -> None:
    now = 1.0
    exchange = RecordedExchange(lambda: now, LogBudget(), b"{}")
    exchange.slowed = 30.0
    now = 33.0
    exchange.began(200, events=False)
    exchange.wrote(b'{"choices": [{"message": {"content": "hi"}, "finish_reason": "stop"}]}')
    exchange.done = True
    answer = exchange.whole_answer()
    assert answer is not None
    assert answer.duration == 2


async def test_the_end_of_an_answer_follows_its_last_part_at_once() -> None:
    """A client that hangs up after the last part would else seem to break the answer off."""
    happened: list[object] = []

    async def send(message: Mapping[str, Any]) -> None:
        happened.append(message.get("body"))

    async def pause() -> None:
        happened.append("pause")

    exchange = cast("Any", SimpleNamespace(began=lambda *_, **__: None, wrote=lambda _: None, done=False))
    await ResponseWriter(cast("Any", send), exchange).response(Response(parts=(b"one", b"two"), sized=False), pause)
    assert happened == [None, b"one", "pause", b"two"]
