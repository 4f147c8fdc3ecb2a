"""Answers that are kept in a file: what it can have, its faults, and several programs at once."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each

from trialbed.contracts import ApiRefused
from trialbed.errors import DataError, UsageError
from trialbed.wire.redaction import Redaction
from trialbed_tools.forms import ServerForm
from trialbed_tools.live import CallAnswer, KeptAnswers, LiveTools, ToolsUnreachable, TrialCalls, UnkeptAnswer
from trialbed_tools.servers import list_server


@for_each(
    ("text", "says"),
    [
        ("{", "shop.answers.jsonl:1: is not valid JSON"),
        ("[]", "shop.answers.jsonl:1: each line is a JSON object"),
        (
            '{"tool": "a", "arguments": {}, "response": 1}\n\n{"tool": "a"}',
            "shop.answers.jsonl:3: an answer has a tool, its arguments",
        ),
        ('{"tool": 3, "arguments": {}}', "shop.answers.jsonl:1: an answer has a tool"),
        ('{"tool": "a", "arguments": {}}', "shop.answers.jsonl:1: an answer has a response or an error"),
        ('{"tool": "a", "arguments": {}, "response": 1, "error": "b"}', ":1: an answer has a response or an error"),
        ('{"tool": "a", "arguments": {}, "response": 1, "after": 3}', ":1: an answer has a response or an error"),
        ('{"tool": "a", "arguments": {}, "reponse": 1}', ":1: unknown key 'reponse'; an answer has tool, arguments"),
        ('{"tool": "a", "arguments": {}, "response": "sk-0123\\u0034567"}', ":1: a key of this program's variables"),
        ('{"tool": "a", "arguments": {}, "error": null}', "shop.answers.jsonl:1: an answer has a tool"),
    ],
)
def test_a_fault_of_kept_answers_is_named_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, says: str
) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "sk-01234567")
    path = tmp_path / "shop.answers.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError) as raised:
        KeptAnswers(path, Redaction(())).find(("a", {}), ())
    assert "sk-0" not in str(raised.value)
    assert says in str(raised.value)


def test_answers_that_cannot_be_kept_are_said_so(tmp_path: Path) -> None:
    kept = KeptAnswers(tmp_path / "no" / "shop.answers.jsonl", Redaction(()))
    with pytest.raises(UsageError, match="the answer cannot be kept"):
        kept.add(("a", {}), (), CallAnswer("b"))


def test_an_answer_with_a_key_leaves_the_file_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", "12345678")
    path = tmp_path / "shop.answers.jsonl"
    kept = KeptAnswers(path, Redaction(("12345678", "production", "87654321")))
    for call, answer in [
        (("get", {"id": 12345678}), "a"),
        (("get_12345678", {}), "a"),
        (("get", {}), {"id": 12345678}),
        (("get", {"id": 87654321}), "a"),
    ]:
        with pytest.raises(UnkeptAnswer, match="a key of this program's variables stands in it"):
            kept.add(call, (), CallAnswer(answer))
    # The value of a variable that is no key may be the word for anything.
    kept.add(("production_status", {"of": "production"}), (), CallAnswer("in production"))
    assert kept.find(("production_status", {"of": "production"}), ()) == CallAnswer("in [redacted]")
    with path.open("a", encoding="utf-8") as file:
        file.write('{"tool": "a", "arguments": {}, "response": "production"}\n')
    assert KeptAnswers(path, kept.redaction).find(("a", {}), ()) == CallAnswer("production")


def answers(folder: Path) -> KeptAnswers:
    return KeptAnswers(folder / "shop.answers.jsonl", Redaction(()))


def nested(depth: int) -> Any:
    value: Any = []
    for _ in range(depth):
        value = [value]
    return value


UNKEPT = [(float("nan"),), (float("inf"),), (nested(5000),)]


class Answering:
    """Gives one answer."""

    def __init__(self, response: Any) -> None:
        self.response = response
        self.calls: list[dict[str, Any]] = []

    async def call(self, name: str, arguments: dict[str, Any]) -> CallAnswer:
        self.calls.append(arguments)
        return CallAnswer(self.response)

    async def close(self) -> None:
        """Nothing is held."""


@pytest.mark.parametrize("value", [value for (value,) in UNKEPT], ids=range(len(UNKEPT)))
async def test_what_no_file_can_have_is_neither_kept_nor_asked_for(tmp_path: Path, value: Any) -> None:
    answering = Answering(value)
    calls = TrialCalls(LiveTools(answers(tmp_path), lambda: answering, "shop", has_state=False))
    with pytest.raises(ToolsUnreachable, match="the answer cannot be kept: it "):
        await calls.call("a", {})
    # These are the model's own.
    with pytest.raises(ApiRefused, match="the call cannot be made: it "):
        await calls.call("a", {"value": value})
    assert answering.calls == [{}]
    answering.response = "b"
    assert await calls.call("a", {}) == "b"
    assert answers(tmp_path).find(("a", {}), ()) == CallAnswer("b")


@for_each(
    ("response", "answer"),
    [
        ({"half \ud83d": ["\udc00"]}, CallAnswer({"half \ufffd": ["\ufffd"]})),
        ("x" * 2**22, CallAnswer(error="the answer is larger than 4,194,304 bytes")),
    ],
)
def test_halves_of_characters_are_replaced_and_a_large_answer_is_an_error(
    tmp_path: Path, response: Any, answer: CallAnswer
) -> None:
    tool = type(response).__name__
    assert answers(tmp_path).add((tool, {"b": "\ud800"}), (), CallAnswer(response)) == answer
    assert answers(tmp_path).find((tool, {"b": "\ufffd"}), ()) == answer


def test_a_file_of_answers_may_be_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialbed_tools.located.LARGEST", 100)
    kept = answers(tmp_path)
    for number in range(10):
        kept.add(("a", {"number": number}), (), CallAnswer("b" * 50))
    assert answers(tmp_path).find(("a", {"number": 9}), ()) == CallAnswer("b" * 50)


def test_the_first_answer_of_two_programs_stays(tmp_path: Path) -> None:
    first, second = answers(tmp_path), answers(tmp_path)
    assert first.find(("a", {}), ()) is second.find(("a", {}), ()) is None
    assert first.add(("a", {}), (), CallAnswer(1)) == CallAnswer(1)
    assert second.add(("a", {}), (), CallAnswer(2)) == CallAnswer(1)
    assert second.add(("b", {}), (), CallAnswer(3)) == first.add(("b", {}), (), CallAnswer(4)) == CallAnswer(3)
    assert len(first.path.read_text(encoding="utf-8").splitlines()) == 2
    assert first.digest() == second.digest() == answers(tmp_path).digest()


def test_programs_write_whole_lines_at_once(tmp_path: Path) -> None:
    def write(name: str) -> None:
        kept = answers(tmp_path)
        for number in range(20):
            kept.add((name, {"number": number}), (), CallAnswer(name * 20_000))

    threads = [threading.Thread(target=write, args=(name,)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len((tmp_path / "shop.answers.jsonl").read_text(encoding="utf-8").splitlines()) == 60
    assert answers(tmp_path).find(("c", {"number": 19}), ()) == CallAnswer("c" * 20_000)


def test_a_last_line_without_its_end_is_ended(tmp_path: Path) -> None:
    kept = answers(tmp_path)
    kept.path.write_text('{"tool": "a", "arguments": {}, "response": 1}', encoding="utf-8")
    assert kept.find(("a", {}), ()) == CallAnswer(1)
    kept.add(("b", {}), (), CallAnswer(2))
    assert answers(tmp_path).find(("b", {}), ()) == CallAnswer(2)
    with kept.path.open("a", encoding="utf-8") as file:
        file.write("{")
    with pytest.raises(DataError, match=r"shop\.answers\.jsonl:3: is not valid JSON"):
        kept.add(("c", {}), (), CallAnswer(3))


def test_a_file_that_is_replaced_is_read_anew(tmp_path: Path) -> None:
    kept = answers(tmp_path)
    kept.add(("a", {}), (), CallAnswer("long enough"))
    kept.path.unlink()
    kept.add(("b", {}), (), CallAnswer(2))
    assert json.loads(kept.path.read_text(encoding="utf-8"))["tool"] == "b"
    assert kept.find(("a", {}), ()) == CallAnswer("long enough")


MESSAGES = [
    '{"jsonrpc": "2.0", "result": NaN}',
    '{"jsonrpc": "2.0", "result": 1e999}',
    "[" * 300 + '"jsonrpc"' + "]" * 300,
]


@for_each("text", MESSAGES)
def test_messages_are_strict_json(tmp_path: Path, text: str) -> None:
    (tmp_path / "lines").write_text(f"{{a line for people}}\n{text}\n", encoding="utf-8")
    with pytest.raises(ToolsUnreachable, match="a message that is not valid JSON"):
        list_server(ServerForm(command="sh -c 'cat lines; cat > /dev/null'"), tmp_path, {}, Redaction(()))
