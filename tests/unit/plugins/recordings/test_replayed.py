"""A recorded model as it answers a trial."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trialbed.contracts import ModelQuestion, ModelReply, ReplyMissing
from trialbed.records import TrialRegistration
from trialbed.wire import Call, ModelAnswer
from trialbed.wire.dialects import dialect
from trialbed_plugins.recordings._cassette import Cassette, RecordedReply, read_cassette, write_cassette
from trialbed_plugins.recordings._key import canonical, canonical_text
from trialbed_plugins.recordings._replayed import ReplayedModel

CHAT = dialect()
TOOLS = [{"type": "function", "function": {"name": "look", "description": "Look around.", "parameters": {}}}]


def asked(text: str, **fields: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "messages": [{"role": "user", "content": text}], "tools": TOOLS, **fields}


def body(text: str, request: dict[str, Any]) -> str:
    answer = ModelAnswer(
        content=text, calls=(Call("look", '{"at": "ü"}', "call_1"),), finish_reason="tool_calls", id="x"
    )
    return b"".join(CHAT.write_answer(answer, CHAT.read_request(request))).decode()


def reply(text: str, said: str, *, seed: int = 1, occurrence: int = 0, stream: bool = False) -> RecordedReply:
    request = asked(text, stream=stream)
    plain = json.loads(canonical_text(canonical(request, {"gpt-4o"})))
    return RecordedReply(seed, occurrence, plain, body(said, request), stream, duration=2.5)


def model(*replies: RecordedReply, seed: int = 1, ask: bool = False, ignored: Sequence[str] = ()) -> ReplayedModel:
    cassette = Cassette("small", "m", "gpt-4o", replies, ignored=ignored)
    registration = TrialRegistration(trial="trial-12345", model="replay:stop:f", model_name="gpt-4o", seed=seed)
    return ReplayedModel(cassette, registration, ask=ask)


async def ask(played: ReplayedModel, request: dict[str, Any], place: int = 0) -> ModelReply | None:
    return await played.answer(ModelQuestion(CHAT.read_request(request), CHAT, place))


@pytest.mark.parametrize("stream", [False, True])
async def test_a_request_in_the_same_way_gets_the_same_bytes(stream: bool) -> None:
    recorded = reply("hello", "hi", stream=stream)
    found = await ask(model(recorded), asked("hello", stream=stream))
    assert found is not None
    assert (found.body, found.recorded) == (recorded.body.encode(), 2.5)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_request_in_the_other_way_gets_the_same_answer(stream: bool) -> None:
    found = await ask(model(reply("hello", "hi", stream=stream)), asked("hello", stream=not stream))
    assert found is not None
    assert (found.body, found.recorded) == (None, 2.5)
    assert (found.answer.text, found.answer.finish_reason) == ("hi", "tool_calls")
    assert found.answer.calls == (Call("look", '{"at": "ü"}', "call_1"),)


async def test_the_same_question_again_gets_its_second_answer_and_then_none() -> None:
    played = model(reply("hello", "one"), reply("hello", "two", occurrence=1))
    said = [(await ask(played, asked("hello"), place)) for place in range(2)]
    assert [json.loads(one.body or b"")["choices"][0]["message"]["content"] for one in said if one] == ["one", "two"]
    with pytest.raises(ReplyMissing, match="request 3 was recorded 2 times, and is asked once more"):
        await ask(played, asked("hello"), 2)


async def test_requests_at_the_same_time_and_in_any_order_get_their_own_answers() -> None:
    texts = [f"question {number}" for number in range(40)]
    played = model(*(reply(text, f"answer to {text}") for text in texts))
    random.Random(7).shuffle(texts)
    found = await asyncio.gather(*(ask(played, asked(text)) for text in texts))
    for text, one in zip(texts, found, strict=True):
        assert one is not None
        assert f"answer to {text}" in (one.body or b"").decode()


async def test_odd_streams_come_back_byte_for_byte_from_a_file(tmp_path: Path) -> None:
    draw = random.Random(11)
    parts = [
        "data: {",
        "}\n\n",
        "data: [DONE]\n\n",
        ": ping\n\n",
        "\r\n",
        "\n",
        "ü\u2028",
        "\x00",
        "event: x\n",
        "🙂",
        '{"a":',
    ]
    streams = ["".join(draw.choices(parts, k=draw.randrange(1, 60))) for _ in range(200)]
    recorded = [replace(reply(f"q{place}", "", stream=True), body=text) for place, text in enumerate(streams)]
    write_cassette(Cassette("small", "m", "gpt-4o", recorded), tmp_path / "a")
    registration = TrialRegistration(trial="trial-12345", model="replay:stop:f", model_name="gpt-4o", seed=1)
    played = ReplayedModel(read_cassette(tmp_path / "a"), registration, ask=False)
    for place, text in enumerate(streams):
        found = await ask(played, asked(f"q{place}", stream=True))
        assert found is not None
        assert found.body == text.encode()


async def test_a_request_that_was_not_recorded_says_what_is_different_first() -> None:
    changed = asked("hello")
    changed["tools"] = json.loads(json.dumps(TOOLS).replace("Look around.", "Look about."))
    said = r'request 1 is not the recorded one: tools\[0\]\.function\.description: "Look around\." → "Look about\."'
    with pytest.raises(ReplyMissing, match=said):
        await ask(model(reply("hello", "hi"), reply("other words", "x")), changed)


async def test_what_a_recording_ignores_need_not_be_as_it_was() -> None:
    found = await ask(model(reply("It is (time).", "hi"), ignored=["time"]), asked("It is 10:31."))
    assert found is not None
    with pytest.raises(
        ReplyMissing, match=r'"It is 10:30\." → "It is 10:31\." \(bench record with --ignore time makes'
    ):
        await ask(model(reply("other words", "x"), reply("It is 10:30.", "hi")), asked("It is 10:31."))


async def test_a_trial_of_another_seed_has_no_recording() -> None:
    with pytest.raises(ReplyMissing, match="of a task, repeat or seed that was not recorded"):
        await ask(model(reply("hello", "hi"), seed=2), asked("hello"))


async def test_the_endpoint_is_asked_where_that_is_wanted() -> None:
    played = model(reply("hello", "hi"), ask=True)
    assert await ask(played, asked("unknown")) is None
    assert await ask(played, asked("hello")) is not None
    assert played.asks == "small"
