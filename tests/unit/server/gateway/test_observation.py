"""Reading what a model answered, also from vendors that are careless."""

from __future__ import annotations

import json
from typing import Any

from support.cases import for_each

from trialbed.records import Usage
from trialbed.wire.dialects import dialect
from trialbed_server.gateway.exchange import observe


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


def test_pieces_of_parallel_calls_are_joined_by_index() -> None:
    def piece(index: int, **function: str) -> dict[str, Any]:
        return {"choices": [{"delta": {"tool_calls": [{"index": index, "function": function}]}}]}

    seen = observe(
        dialect(),
        stream(
            piece(0, name="a", arguments=""), piece(1, name="b", arguments='{"x"'), piece(0, arguments="{}"),
            piece(1, arguments=": 1}"), {"choices": [{"delta": {}, "finish_reason": "tool_calls"}]},
            {"choices": [], "usage": {"prompt_tokens": 3, "completion_tokens": 4, "more": {}}},
        ),
        {"a", "b"},
        stream=True,
    )  # fmt: skip
    assert [(sent.name, sent.arguments, sent.problem) for sent in seen.tool_calls] == [
        ("a", "{}", None),
        ("b", '{"x": 1}', None),
    ]
    assert (seen.finish_reason, seen.usage) == ("tool_calls", Usage(prompt_tokens=3, completion_tokens=4))


def test_whole_calls_without_an_index_stay_apart() -> None:
    calls = [{"function": {"name": "a", "arguments": "{}"}}, {"function": {"name": "a", "arguments": "{}"}}]
    seen = observe(dialect(), stream({"choices": [{"delta": {"tool_calls": calls}}]}), {"a"}, stream=True)
    assert len(seen.tool_calls) == 2


@for_each(
    "body",
    [b"", b"not json", b"[]", b"null", b'{"choices": 5}', b'{"choices": [null, {"message": []}]}', b'{"usage": 5}',
     b'{"usage": {"prompt_tokens": "x"}}', b"data: {\n\ndata: 5\n\n", b"\xff\xfe"],
)  # fmt: skip
@for_each("as_stream", [True, False])
def test_garbage_says_nothing(body: bytes, as_stream: bool) -> None:
    assert observe(dialect(), body, (), stream=as_stream)[:3] == (None, None, ())


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
    seen = observe(dialect(), json.dumps(document).encode(), offered, stream=False, described=("look_up",))
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
