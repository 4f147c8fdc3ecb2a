"""Cassettes: what is written is read again, and nothing else is taken for one."""

from __future__ import annotations

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from trialbed.errors import DataError
from trialbed_plugins.recordings._cassette import Cassette, RecordedReply, read_cassette, write_cassette
from trialbed_plugins.recordings._key import canonical_text


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


def test_equal_recordings_are_equal_files_whatever_the_order(tmp_path: Path) -> None:
    replies = [reply(text) for text in "abc"]
    for name, order in (("a", replies), ("b", replies[::-1])):
        write_cassette(cassette(*order), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_a_part_that_many_requests_have_stands_there_once() -> None:
    lines = b"".join(cassette(*(reply(text) for text in "abc")).lines())
    assert lines.count(b'{"name":"look"}') == 1


def test_a_conversation_of_responses_stands_there_once(tmp_path: Path) -> None:
    items = [{"role": "user", "content": f"line {number}"} for number in range(3)]
    turns = [{"model": "m", "input": items[: number + 1]} for number in range(3)]
    replies = [RecordedReply(1, 0, turn, "hello", stream=False, duration=0.5, dialect="responses") for turn in turns]
    written = cassette(*replies)
    assert b"".join(written.lines()).count(b'"line 0"') == 1
    write_cassette(written, tmp_path / "a.cassette")
    assert read_cassette(tmp_path / "a.cassette").digest == written.digest


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
        (b"no xz", "is no cassette"),
        (lzma.compress(b"words\n"), "line 1: is not JSON"),
        (lzma.compress(b"[]\n"), "is no cassette"),
        (lzma.compress(b""), "is no cassette"),
        (lzma.compress(b'{"format": "trialbed cassette", "version": 9}\n'), "of version 9"),
        (lzma.compress(b"".join(cassette(reply()).lines()) + b'{"seed": 1}\n'), "line 5: is not as a cassette has it"),
        (lzma.compress(b"".join(list(cassette(reply(), reply("b")).lines())[:-1])), "says 2: it was changed or cut"),
        (lzma.compress(b"".join(cassette(reply()).lines()))[:-20], "is no cassette, or is cut"),
    ],
)
def test_what_is_no_whole_cassette_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_cassette(tmp_path / "file")


@pytest.mark.parametrize(
    ("number", "changes", "message"),
    [
        (1, {"identity": None}, "line 1: is not as a cassette has it: TypeError"),
        (1, {"told": ...}, "line 1: is not as a cassette has it: KeyError: 'told'"),
        (2, {"digest": ["x"]}, "line 2: is not as a cassette has it: TypeError"),
        (2, {"digest": 7}, "line 2: is not as a cassette has it: TypeError"),
        (2, {"digest": ...}, "line 2: is not as a cassette has it: KeyError"),
        (4, {"seed": {}}, "line 4: is not as a cassette has it: ValidationError: .* seed "),
        (4, {"request": ["x"]}, "line 4: is not as a cassette has it"),
        (4, {"request": {"messages": [["x"]]}}, "line 4: is not as a cassette has it: TypeError"),
        (4, {"duration": "long"}, "line 4: is not as a cassette has it: ValidationError: .* duration "),
    ],
)
def test_a_damaged_line_of_a_cassette_is_an_error_with_its_number(
    tmp_path: Path, number: int, changes: dict[str, Any], message: str
) -> None:
    lines = [json.loads(line) for line in cassette(reply()).lines()]
    changed = lines[number - 1] | changes
    lines[number - 1] = {name: value for name, value in changed.items() if value is not ...}
    (tmp_path / "file").write_bytes(lzma.compress("\n".join(map(json.dumps, lines)).encode()))
    with pytest.raises(DataError, match=f"file, {message}"):
        read_cassette(tmp_path / "file")


def test_the_answers_of_a_seed_are_found_whatever_their_requests() -> None:
    found = cassette(reply("a"), reply("b", seed=2**70), reply("c"))
    assert [one.request["messages"][0]["content"] for one in found.of_seed(1)] == ["a", "c"]
    assert [found.has_seed(seed) for seed in (1, 2**70, 3)] == [True, True, False]
    text = canonical_text(reply("b").request)
    answer = found.find(text, seed=2**70, occurrence=0)
    assert answer is not None
    assert (answer.body, answer.stream, answer.duration) == ("answer to b ü\udc80", False, 0.5)
    assert found.find(text, seed=1, occurrence=0) is None


def test_a_part_that_a_cassette_lacks_is_named_with_its_line(tmp_path: Path) -> None:
    lines = list(cassette(reply()).lines())
    (tmp_path / "file").write_bytes(lzma.compress(b"".join([*lines[:2], lines[3]])))
    with pytest.raises(DataError, match="line 3: is not as a cassette has it: KeyError"):
        read_cassette(tmp_path / "file")
