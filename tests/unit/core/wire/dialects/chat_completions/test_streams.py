from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed.wire import Reading
from trialbed.wire.dialects.chat_completions import ChatStreamReader

DONE = b"data: [DONE]\n\n"
NAMES = ("get_weather", "get_time")


def event(document: Any) -> bytes:
    return b"data: " + json.dumps(document).encode() + b"\n\n"


def delta(finish: str | None = None, **fields: Any) -> bytes:
    return event({"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]})


def piece(**fields: Any) -> bytes:
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    return delta(tool_calls=[{**fields, "function": function}])


def reading(*chunks: bytes, cut: str | None = None) -> Reading:
    stream = ChatStreamReader(NAMES)
    for number, chunk in enumerate(chunks, 1):
        stream.feed(chunk, float(number))
    return stream.end(99.0, cut)


def calls(found: Reading) -> list[tuple[str | None, str, str]]:
    assert found.response is not None
    made = found.response["choices"][0]["message"]["tool_calls"] or []
    return [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in made]


@for_each(
    ("chunks", "outcome", "kind"),
    [
        ([delta(content="a"), delta("stop"), DONE], "stop", None),
        ([delta("stop", content="a"), DONE], "stop", None),
        ([delta("stop"), DONE], "stop", None),
        ([delta(content="a"), delta("length"), DONE], "other", None),
        ([piece(index=0, id="1", name="get_time", arguments="{}"), delta("tool_calls"), DONE], "tool_calls", None),
        ([delta(content="a"), delta("stop")], "protocol_error", "no_done"),
        ([delta(content="a"), DONE], "protocol_error", "no_finish_reason"),
        ([DONE], "protocol_error", "no_finish_reason"),
        ([delta(content="a")], "protocol_error", "cut_stream"),
        ([], "protocol_error", "empty_stream"),
        ([b": ping\n\n"], "protocol_error", "empty_stream"),
        ([delta(content="a"), b"data: {oops\n\n", delta("stop"), DONE], "protocol_error", "malformed_event"),
        ([b"data: 7\n\n", delta("stop"), DONE], "protocol_error", "malformed_event"),
        ([delta(content="a"), event({"error": {"message": "no"}}), DONE], "protocol_error", "error_event"),
        ([delta(content="a"), b'event: error\ndata: {"message": "no"}\n\n', DONE], "protocol_error", "error_event"),
        (
            [event({"choices": [{"index": 0, "delta": None, "finish_reason": "stop"}]}), DONE],
            "protocol_error",
            "null_message",
        ),
        ([event({"choices": []}), DONE], "protocol_error", "no_finish_reason"),
    ],
)
def test_a_stream_ends_in_one_outcome(chunks: list[bytes], outcome: str, kind: str | None) -> None:
    found = reading(*chunks)
    assert (found.outcome, found.problem and found.problem.kind) == (outcome, kind)


def test_what_came_before_a_break_is_kept() -> None:
    found = reading(delta(content="half an "), delta(content="answer"), cut="the wire broke")
    assert found.response is not None
    assert found.response["choices"][0]["message"]["content"] == "half an answer"
    assert found.problem is not None
    assert "the wire broke" in found.problem.message


@for_each(
    ("first", "number"),
    [
        ({"content": "x"}, 2),
        ({"reasoning_content": "hm"}, 2),
        ({"reasoning": "hm"}, 2),
        ({"tool_calls": [{"index": 0, "function": {"arguments": "{"}}]}, 2),
    ],
)
def test_the_first_token_is_content_argument_or_reasoning(first: dict[str, Any], number: int) -> None:
    assert reading(delta(role="assistant", content=""), delta(**first), delta("stop"), DONE).first_token == number


def test_a_role_or_a_name_is_no_token() -> None:
    named = piece(index=0, id="1", name="get_time", arguments="")
    assert reading(delta(role="assistant", content=""), named, delta("tool_calls"), DONE).first_token is None


@for_each(
    "usage",
    [
        [event({"choices": [], "usage": {"total_tokens": 7}})],
        [event({"choices": [{"index": 0, "delta": {}, "usage": {"total_tokens": 7}}]})],
        [
            event({"choices": [], "usage": None}),
            event({"usage": {"total_tokens": 3}}),
            event({"usage": {"total_tokens": 7}}),
        ],
    ],
)
def test_usage_is_taken_from_where_vendors_put_it_the_last_counts(usage: list[bytes]) -> None:
    found = reading(delta(content="a"), delta("stop"), *usage, DONE)
    assert found.response is not None
    assert found.response["usage"] == {"total_tokens": 7}


def test_calls_are_told_apart_by_index_in_order_of_arrival() -> None:
    found = reading(
        piece(index=1, id="b", name="get_time", arguments='{"a"'),
        piece(index=0, id="a", name="get_weather", arguments="{}"),
        piece(index=1, arguments=": 1}"),
        delta("tool_calls"),
        DONE,
    )
    assert calls(found) == [("b", "get_time", '{"a": 1}'), ("a", "get_weather", "{}")]


def test_without_index_an_id_or_a_name_begins_a_call() -> None:
    found = reading(
        piece(id="a", name="get_weather", arguments='{"c"'),
        piece(arguments=": 1}"),
        piece(id="b", name="get_weather", arguments="{}"),
        delta("tool_calls"),
        DONE,
    )
    assert calls(found) == [("a", "get_weather", '{"c": 1}'), ("b", "get_weather", "{}")]


def test_without_index_and_id_a_name_after_whole_arguments_begins_a_call() -> None:
    found = reading(
        piece(name="get_weather", arguments='{"c": 1}'),
        piece(name="get_time", arguments="{}"),
        delta("tool_calls"),
        DONE,
    )
    assert [name for _, name, _ in calls(found)] == ["get_weather", "get_time"]


def test_an_index_used_again_for_another_call_does_not_merge_them() -> None:
    found = reading(
        piece(index=0, id="a", name="get_weather", arguments="{}"),
        piece(index=0, id="b", name="get_time", arguments="{}"),
        delta("tool_calls"),
        DONE,
    )
    assert calls(found) == [("a", "get_weather", "{}"), ("b", "get_time", "{}")]


def test_an_index_used_again_for_another_tool_does_not_merge_them_though_there_were_no_arguments() -> None:
    found = reading(
        piece(index=0, id="a", name="get_time", arguments=""),
        piece(index=0, id="b", name="get_weather", arguments='{"city": "Oslo"}'),
        delta("tool_calls"),
        DONE,
    )
    assert calls(found) == [("a", "get_time", ""), ("b", "get_weather", '{"city": "Oslo"}')]


def test_an_id_that_is_new_with_every_piece_begins_no_call() -> None:
    found = reading(
        piece(index=0, id="a", name="get_time", arguments=""),
        piece(index=0, id="b", name="get_time", arguments="{}"),
        delta("tool_calls"),
        DONE,
    )
    assert calls(found) == [("a", "get_time", "{}")]


def test_of_a_vendor_that_counts_choices_from_1_the_first_counts() -> None:
    chunks = [
        event({"choices": [{"index": 1, "delta": {"content": "a"}, "finish_reason": end}]}) for end in ("", "stop")
    ]
    assert (reading(*chunks, DONE).outcome, reading(*chunks, DONE).problem) == ("stop", None)


def test_content_in_typed_parts_is_content() -> None:
    found = reading(delta(content=[{"type": "text", "text": "a"}, {"type": "image"}, 7]), delta("stop"), DONE)
    assert found.response is not None
    assert found.response["choices"][0]["message"]["content"] == "a"
    assert found.first_token == 1.0


@for_each(
    ("fragments", "name"),
    [
        (["get_", "weather"], "get_weather"),
        (["get_weather", "get_weather"], "get_weather"),
        (["get", "get_weather"], "get_weather"),
        (["un", "known"], "unknown"),
    ],
)
def test_a_name_may_come_in_fragments_or_again_and_again(fragments: list[str], name: str) -> None:
    pieces = [piece(index=0, id="a", name=fragment) for fragment in fragments]
    found = reading(*pieces, piece(index=0, arguments="{}"), delta("tool_calls"), DONE)
    assert calls(found) == [("a", name, "{}")]


def test_every_choice_is_kept_and_the_first_decides() -> None:
    both = {
        "choices": [
            {"index": n, "delta": {"content": str(n)}, "finish_reason": r} for n, r in enumerate(("stop", "length"))
        ]
    }
    found = reading(event(both), DONE)
    assert found.response is not None
    assert [choice["message"]["content"] for choice in found.response["choices"]] == ["0", "1"]
    assert found.outcome == "stop"


def test_oddities_are_noted_and_no_failure() -> None:
    late = reading(delta("stop", content="a"), delta(content="b"), DONE, delta(content="c"))
    assert late.outcome == "stop"
    assert {"tokens_after_finish", "events_after_done"} <= set(late.notes)
    assert '"content": "b"' in late.excerpts["tokens_after_finish"]


@for_each(
    "keys",
    [
        (["reasoning"], ["reasoning", "reasoning_content"], ["reasoning", "reasoning_content"]),
        (["reasoning"], ["reasoning_content"], ["reasoning"]),
        (["reasoning_content", "reasoning"], ["reasoning_content", "reasoning"], ["reasoning"]),
    ],
)
def test_reasoning_comes_once_and_whole_under_whatever_keys(keys: tuple[list[str], ...]) -> None:
    stream = ChatStreamReader(NAMES)
    stream.pieces = []
    for text, names in zip(("one ", "two ", "three"), keys, strict=True):
        stream.feed(delta(**dict.fromkeys(names, text)))
    assert stream.pieces == [("reasoning", "one "), ("reasoning", "two "), ("reasoning", "three")]


TEXT = st.text(max_size=20)
MESSAGES = st.fixed_dictionaries(
    {
        "content": TEXT,
        "reasoning": TEXT,
        "calls": st.lists(st.tuples(st.sampled_from(NAMES), st.dictionaries(TEXT, TEXT, max_size=3)), max_size=4),
        "step": st.integers(1, 7),
    }
)


@given(MESSAGES, st.data())
def test_any_message_cut_anywhere_comes_back_whole(message: dict[str, Any], data: st.DataObject) -> None:
    body = streamed(message)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=6)))
    stream, start = ChatStreamReader(NAMES), 0
    for cut in [*cuts, len(body)]:
        stream.feed(body[start:cut], 1.0)
        start = cut
    found = stream.end(2.0)
    assert found.outcome == ("tool_calls" if message["calls"] else "stop")
    assert found.response is not None
    read = found.response["choices"][0]["message"]
    assert read["content"] == message["content"]
    assert read.get("reasoning_content", "") == message["reasoning"]
    wanted = [(name, json.dumps(arguments)) for name, arguments in message["calls"]]
    assert [(name, arguments) for _, name, arguments in calls(found)] == wanted


def streamed(message: dict[str, Any]) -> bytes:
    step = message["step"]

    def cut(text: str) -> list[str]:
        return [text[start : start + step] for start in range(0, len(text), step)]

    events = [delta(role="assistant", content="")]
    events += [delta(reasoning_content=part) for part in cut(message["reasoning"])]
    events += [delta(content=part) for part in cut(message["content"])]
    for number, (name, arguments) in enumerate(message["calls"]):
        events.append(piece(index=number, id=f"c{number}", type="function", name=name, arguments=""))
        events += [piece(index=number, arguments=part) for part in cut(json.dumps(arguments))]
    return b"".join([*events, delta("tool_calls" if message["calls"] else "stop"), DONE])
