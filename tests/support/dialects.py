"""Answers and streams for tests of dialects."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from trialbed.wire import Call, ModelAnswer, usage_counts

TEXT = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
ARGUMENTS = st.dictionaries(TEXT, st.none() | st.integers(-9, 9) | TEXT, max_size=3).map(
    lambda found: json.dumps(found, ensure_ascii=False)
) | st.sampled_from(['{"broken": ', "[1]", '"text"'])
CALLS = st.lists(st.tuples(st.sampled_from(["find", "open"]), ARGUMENTS), max_size=3).map(
    lambda found: tuple(Call(name, arguments, f"call_{place}") for place, (name, arguments) in enumerate(found))
)


def _end(calls: tuple[Call, ...]) -> str:
    return "tool_calls" if calls else "stop"


@st.composite
def _answers(draw: st.DrawFn) -> ModelAnswer:
    calls = draw(CALLS)
    refusal = draw(st.just("") | TEXT)
    return ModelAnswer(
        content=draw(st.none() | TEXT),
        calls=calls,
        reasoning=draw(st.just("") | TEXT),
        refusal=refusal,
        # The one with which a refusal ends in every dialect.
        finish_reason="content_filter" if refusal else draw(st.sampled_from(["length", _end(calls)])),
        usage=usage_counts(draw(st.integers(1, 99)), draw(st.integers(0, 99))),
        model="m",
        id="1",
    )


ANSWERS = _answers()
"""Answers with what every dialect can say."""


def answer_to(name: str) -> ModelAnswer:
    """An answer that calls a tool."""
    return ModelAnswer(
        content="Wait.",
        calls=(Call(name, '{"id": 1}', "call_1"),),
        finish_reason="tool_calls",
        usage=usage_counts(5, 2),
        model="m",
        id="1",
    )


def said(answer: ModelAnswer, *, loosely: bool = False) -> Any:
    """What an answer says, for comparisons; ``loosely``: arguments that are JSON are compared as such."""
    calls = [(call.name, _arguments(call) if loosely else call.arguments, call.id) for call in answer.calls]
    tokens = {name: count for name, count in (answer.usage or {}).items() if count and not name.startswith("c")}
    completion = (answer.usage or {}).get("completion_tokens")
    words = (answer.text, answer.refusal, answer.reasoning)
    return (words, calls, answer.finish_reason, tokens, completion, answer.model, answer.id)


def _arguments(call: Call) -> Any:
    try:
        return json.loads(call.arguments)
    except ValueError:
        return call.arguments


def odd_events(kinds: list[str]) -> st.SearchStrategy[bytes]:
    """Streams of events with types and fields of a dialect in places where they do not belong."""
    fields = ["type", "index", "delta", "message", "content", "content_block", "stop_reason", "usage", "text", "error"]
    fields += ["partial_json", "input", "item", "output_index", "item_id", "response", "output", "arguments", "status"]
    fields += ["content_index", "part", "name", "call_id", "id", "summary", "incomplete_details", "input_tokens"]
    fields += ["choices", "finish_reason", "tool_calls", "function"]
    odd = st.recursive(
        st.none() | st.booleans() | st.integers(-3, 10**12) | st.sampled_from(["", "a", "text", "tool_use", *kinds]),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(fields), inner, max_size=4),
        max_leaves=12,
    )
    document = st.builds(
        lambda kind, found: {"type": kind, **found},
        st.sampled_from(kinds),
        st.dictionaries(st.sampled_from(fields[1:]), odd, max_size=5),
    )
    event = document.map(lambda found: f"data: {json.dumps(found)}\n\n".encode())
    stray = st.sampled_from([b"data: 7\n\n", b": comment\n\n", b"junk\n", b"event: error\n", b"data: [DONE]\n\n"])
    return st.lists(event | stray, max_size=8).map(b"".join)
