"""Cassettes, and recorded models as they answer a trial."""

from __future__ import annotations

import json
import lzma
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from support.trials import cells_of, run_config

from trialbed.contracts import ModelQuestion, ModelReply, ReplyMissing
from trialbed.errors import DataError
from trialbed.records import ModelCall, RunCell, TrialRegistration
from trialbed.wire import Call, ModelAnswer
from trialbed.wire.dialects import dialect
from trialbed_plugins.recordings import (
    Cassette,
    RecordedReply,
    canonical,
    canonical_text,
    read_cassette,
    recording_of,
    write_cassette,
)
from trialbed_plugins.recordings.driver import ReplayedModel


def reply(text: str = "hello", *, seed: int = 1, occurrence: int = 0, **fields: Any) -> RecordedReply:
    request = {"messages": [{"role": "user", "content": text}], "tools": [{"name": "look"}], "temperature": 0}
    return RecordedReply(
        seed, occurrence, request, **{"body": f"answer to {text} ü\udc80", "stream": False, "duration": 0.5} | fields
    )


def cassette(*replies: RecordedReply) -> Cassette:
    return Cassette("small", "weights 1", "gpt-4o", replies)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    written = cassette(reply(), reply("x" * 3_000_000), reply(occurrence=1, body="again", stream=True), reply(seed=2))
    write_cassette(written, tmp_path / "a.cassette")
    read = read_cassette(tmp_path / "a.cassette")
    assert list(read.lines()) == list(written.lines())
    assert read.digest == written.digest
    assert (tmp_path / "a.cassette").stat().st_size < 10_000


def test_the_first_of_two_answers_to_one_request_is_kept_and_the_others_are_counted() -> None:
    found = cassette(reply(), reply(body="another"), reply())
    assert ([one.body for one in found.replies.values()], found.conflicts) == ([reply().body], 1)


@pytest.mark.parametrize(("second", "others"), [("Hello.", 0), ("Goodbye.", 1)])
@pytest.mark.parametrize("stream", [False, True])
def test_answers_that_differ_only_in_ids_and_times_are_one(second: str, others: int, stream: bool) -> None:
    def body(words: str, number: int) -> str:
        choice = {"index": 0, "delta" if stream else "message": {"content": words}, "finish_reason": "stop"}
        kind = "chat.completion.chunk" if stream else "chat.completion"
        text = json.dumps({"id": f"c-{number}", "object": kind, "created": number, "model": "m", "choices": [choice]})
        return f"data: {text}\n\ndata: [DONE]\n\n" if stream else text

    replies = [reply(body=body(words, number), stream=stream) for number, words in enumerate(("Hello.", second))]
    assert cassette(*replies).conflicts == others


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"no xz", "is not a cassette"),
        (lzma.compress(b"words\n"), "line 1: is not JSON"),
        (lzma.compress(b"[]\n"), "is not a cassette"),
        (lzma.compress(b""), "is not a cassette"),
        (lzma.compress(b'{"format": "trialbed cassette", "version": 9}\n'), "of version 9"),
        (lzma.compress(b"".join(cassette(reply()).lines()) + b'{"seed": 1}\n'), "line 5: is not valid in a cassette"),
        (lzma.compress(b"".join(list(cassette(reply(), reply("b")).lines())[:-1])), "says 2: it was changed or cut"),
        (lzma.compress(b"".join(cassette(reply()).lines()))[:-20], "is not a cassette, or cut"),
    ],
)
def test_what_is_no_whole_cassette_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_cassette(tmp_path / "file")


CHAT = dialect()
TOOLS = [{"type": "function", "function": {"name": "look", "description": "Look around.", "parameters": {}}}]


def asked(text: str, **fields: Any) -> dict[str, Any]:
    return {"model": "gpt-4o", "messages": [{"role": "user", "content": text}], "tools": TOOLS, **fields}


def body(text: str, request: dict[str, Any]) -> str:
    answer = ModelAnswer(
        content=text, calls=(Call("look", '{"at": "ü"}', "call_1"),), finish_reason="tool_calls", id="x"
    )
    return b"".join(CHAT.write_answer(answer, CHAT.read_request(request))).decode()


def kept_reply(text: str, said: str, *, seed: int = 1, occurrence: int = 0, stream: bool = False) -> RecordedReply:
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
    recorded = kept_reply("hello", "hi", stream=stream)
    found = await ask(model(recorded), asked("hello", stream=stream))
    assert found is not None
    assert (found.body, found.recorded) == (recorded.body.encode(), 2.5)


@pytest.mark.parametrize("stream", [False, True])
async def test_a_request_in_the_other_way_gets_the_same_answer(stream: bool) -> None:
    found = await ask(model(kept_reply("hello", "hi", stream=stream)), asked("hello", stream=not stream))
    assert found is not None
    assert (found.body, found.recorded) == (None, 2.5)
    assert (found.answer.text, found.answer.finish_reason) == ("hi", "tool_calls")
    assert found.answer.calls == (Call("look", '{"at": "ü"}', "call_1"),)


async def test_the_same_question_again_gets_its_second_answer_and_then_none() -> None:
    played = model(kept_reply("hello", "one"), kept_reply("hello", "two", occurrence=1))
    said = [(await ask(played, asked("hello"), place)) for place in range(2)]
    assert [json.loads(one.body or b"")["choices"][0]["message"]["content"] for one in said if one] == ["one", "two"]
    with pytest.raises(ReplyMissing, match="request 3 was recorded 2 times, and is asked once more"):
        await ask(played, asked("hello"), 2)


async def test_a_request_that_was_not_recorded_says_what_is_different_first() -> None:
    changed = asked("hello")
    changed["tools"] = json.loads(json.dumps(TOOLS).replace("Look around.", "Look about."))
    said = r'request 1 is not the recorded one: tools\[0\]\.function\.description: "Look around\." → "Look about\."'
    with pytest.raises(ReplyMissing, match=said):
        await ask(model(kept_reply("hello", "hi"), kept_reply("other words", "x")), changed)


async def test_what_a_recording_ignores_need_not_be_as_it_was() -> None:
    found = await ask(model(kept_reply("It is (time).", "hi"), ignored=["time"]), asked("It is 10:31."))
    assert found is not None
    with pytest.raises(
        ReplyMissing, match=r'"It is 10:30\." → "It is 10:31\." \(bench record with --ignore time makes'
    ):
        await ask(model(kept_reply("other words", "x"), kept_reply("It is 10:30.", "hi")), asked("It is 10:31."))


async def test_a_trial_of_another_seed_has_no_recording() -> None:
    with pytest.raises(ReplyMissing, match="of a task, repeat or seed that was not recorded"):
        await ask(model(kept_reply("hello", "hi"), seed=2), asked("hello"))


async def test_the_endpoint_is_asked_where_that_is_wanted() -> None:
    played = model(kept_reply("hello", "hi"), ask=True)
    assert await ask(played, asked("unknown")) is None
    assert await ask(played, asked("hello")) is not None
    assert played.asks == "small"


def test_the_seconds_of_a_slow_fault_are_not_the_models() -> None:
    calls = [
        ModelCall(
            started=place,
            duration=duration,
            waited=waited,
            status=200,
            stream=False,
            request=json.dumps({"messages": [{"role": "user", "content": str(place)}]}),
            response="{}",
            request_bytes=9,
            response_bytes=2,
            fault=fault,
        )
        # The wait for a turn began with the request, and has the seconds of the fault in it.
        for place, (fault, duration, waited) in enumerate([("", 3.0, 1.0), ("slow", 7.0, 0.0), ("slow", 9.0, 6.0)])
    ]
    trial: Any = SimpleNamespace(wire=SimpleNamespace(model_calls=calls), seed=1)
    faults = json.dumps({"model": {"rate": 1, "faults": ["slow"]}, "slow_seconds": 5.0})
    models = ("m@http://h/v1",)
    cells = (RunCell(label=one, framework=one, model=one, told_model="m", model_identity="m") for one in models)
    config = run_config(*cells, faults=faults)
    run: Any = SimpleNamespace(run_id="r", config=config, table=lambda: {"row": np.array([7])})
    run.results_at = lambda rows: iter({(7,): [trial]}[tuple(rows)])
    cassette, _ = recording_of(run)
    assert cassette.model == "m", "it is asked by its name at whatever endpoint"
    config = run_config(cells_of("r", model=models[0])[0].model_copy(update={"told_model": "m"}), faults=faults)
    run.config = config
    assert recording_of(run)[0].identity == "m", "an address may have a password"
    durations = [reply.duration for reply in cassette.replies.values()]
    assert sorted(durations) == [2.0, 2.0, 3.0]
