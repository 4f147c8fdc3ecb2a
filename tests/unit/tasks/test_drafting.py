"""Drafts of tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trialbed.conversations import read_samples
from trialbed_tasks.drafting import draft_tasks
from trialbed_tasks.reading import read_tasks

HELLO = {"role": "assistant", "content": "How can I help?"}
KEY = "sk-" + "a1B2" * 12


def conversation(query: str, arguments: dict[str, Any], answer: str = "It is done.") -> dict[str, Any]:
    call = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": json.dumps(arguments)}}
    return {
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": query},
            {"role": "assistant", "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c1", "content": '{"price": 12.5}'},
            {"role": "assistant", "content": answer},
        ]
    }


def draft_file(folder: Path, *values: Any) -> tuple[Path, tuple[str, ...]]:
    source, target = folder / "traces.jsonl", folder / "tasks.yaml"
    source.write_text("\n".join(map(json.dumps, values)), encoding="utf-8")
    found = draft_tasks(read_samples(source), "traces.jsonl")
    target.write_text(found.text, encoding="utf-8")
    return target, found.left_out


def test_a_conversation_becomes_a_task_that_can_be_run(tmp_path: Path) -> None:
    path, left_out = draft_file(
        tmp_path,
        conversation("What did order 7 cost?", {"id": 7, "note": "a: b # c"}, "It cost 12.50."),
        conversation("What did order 7 cost?", {"id": 9}),
        {"messages": [{"role": "assistant", "content": "Hello"}]},
    )
    (task,) = read_tasks(path).queries()
    assert (task.text, task.reference_answer) == ("What did order 7 cost?", "It cost 12.50.")
    assert [(call.api.api_name, call.arguments) for call in task.gold_calls] == [
        ("find", {"id": 7, "note": "a: b # c"})
    ]
    text = path.read_text(encoding="utf-8")
    assert '"required": ["id", "note"]' in text
    assert '"example": {"price": 12.5}' in text
    assert [line.partition(": ")[2] for line in left_out] == [
        "its task is that of task 1",
        "it has no message of a user, read as messages",
    ]


def test_keys_are_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_API_KEY", KEY)
    path, _ = draft_file(tmp_path, conversation(f"Use {KEY}, please", {"key": KEY}, f"Used {KEY}"))
    assert KEY not in path.read_text(encoding="utf-8")
    assert len(read_tasks(path).queries()) == 1


def test_what_looks_like_a_key_is_masked(tmp_path: Path) -> None:
    found = ("sk-proj-" + "a1" * 20, "ghp_" + "b2" * 18, "AKIA" + "A" * 16, "eyJ" + ".".join(("a" * 20,) * 3))
    asked = f"Use {' and '.join(found)}, hunter2, Authorization: Bearer {'z' * 30}"
    given = {"api_key": "hunter1", "nested": {"password": "hunter2", "token": 3}, "city": "Bergen"}
    path, _ = draft_file(tmp_path, conversation(asked, given, asked))
    text = path.read_text(encoding="utf-8")
    assert not [key for key in (*found, "zzzz", "hunter") if key in text]
    (task,) = read_tasks(path).queries()
    assert task.gold_calls[0].arguments == {
        "api_key": "[redacted]",
        "nested": {"password": "[redacted]", "token": 3},
        "city": "Bergen",
    }


def test_a_draft_is_of_calls_that_did_not_fail(tmp_path: Path) -> None:
    one = conversation("Refund 8", {"id": 8}, "Refunded.")
    broken = {"id": "c0", "type": "function", "function": {"name": "find", "arguments": "{bad"}}
    failed = {"id": "c9", "type": "function", "function": {"name": "find", "arguments": '{"id": 9}'}}
    one["messages"][2:2] = [
        {"role": "assistant", "tool_calls": [broken, failed]},
        {"role": "tool", "tool_call_id": "c0", "content": "Error: bad"},
        {"role": "tool", "tool_call_id": "c9", "content": '{"isError": true, "content": []}'},
    ]
    path, _ = draft_file(tmp_path, one)
    (task,) = read_tasks(path).queries()
    assert [call.arguments for call in task.gold_calls] == [{"id": 8}]
    assert task.reference_answer == "Refunded."
    text = path.read_text(encoding="utf-8")
    assert text.count("a failed call of find is left out") == 2
    assert '"example": {"price": 12.5}' in text
    assert "# Drafts of 1 task, of" in text
    path, _ = draft_file(tmp_path, {"messages": [*one["messages"][:5], one["messages"][-1]]})
    assert "expect" not in path.read_text(encoding="utf-8")  # that it calls nothing was never seen


def test_each_message_of_the_user_is_a_turn_with_its_calls(tmp_path: Path) -> None:
    hello = [{"role": "user", "content": "Hello"}, HELLO]
    first, second = conversation("Cost of 7?", {"id": 7})["messages"], conversation("Of 8?", {"id": 8})["messages"]
    inner = [*first[1:3], {"role": "user", "content": "You are a search agent: 7"}, *first[3:]]
    thanks = {"role": "user", "content": "Thanks"}
    apart = {"messages": [*hello, thanks, HELLO], "predicted": [{"name": "find", "args": {"id": 9}}]}
    path, left_out = draft_file(
        tmp_path,
        {"messages": [*hello, *first, *second, thanks]},
        {"messages": [*hello, thanks, HELLO]},
        {"messages": inner},
        {**apart, "messages": [*apart["messages"], thanks]},
    )
    assert not left_out
    whole, chat, single, unplaced = read_tasks(path).queries()
    turns = [(turn.text, turn.calls) for turn in whole.turns]
    assert turns == [("Hello", 0), ("Cost of 7?", 1), ("Of 8?", 1), ("Thanks", 0)]
    assert [call.arguments for call in whole.gold_calls] == [{"id": 7}, {"id": 8}]
    assert whole.reference_answer is None
    assert (chat.gold_calls, chat.states_calls, chat.reference_answer) == ((), True, "How can I help?")
    assert (single.text, single.turns) == ("Cost of 7?", ())
    assert [turn.calls for turn in unplaced.turns] == [0, 0, 1]
    text = path.read_text(encoding="utf-8")
    assert text.count("which calls follow which message is not recorded") == 1
    assert '      # answer: "How can I help?"' in text


def trace(number: int, messages: list[dict[str, Any]], began: int, **names: str) -> dict[str, Any]:
    """Return a span of a model that got messages and gave the last of them."""
    about = {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": messages[:-1],
        "gen_ai.output.messages": messages[-1:],
        **{name.replace("_id", ".id"): value for name, value in names.items()},
    }
    return {"traceId": f"t{number}", "spanId": "1", "startTimeUnixNano": str(began), "attributes": about}


ONE, TWO, YES = ([{"role": "user", "content": text}, {"role": "assistant", "content": f"{text}?"}] for text in "abc")
AGAIN = [YES[0], {"role": "assistant", "content": "Done."}]


@pytest.mark.parametrize(
    ("parts", "texts", "notes"),
    [
        pytest.param([(ONE, 1), (ONE + TWO, 2), (ONE + TWO + YES, 3)], "abc", (), id="whole history"),
        pytest.param([(ONE, 1), (TWO, 2), (YES, 3)], "abc", (), id="no history"),
        pytest.param([(YES, 3), (ONE, 1), (TWO, 2)], "abc", (), id="in order of time"),
        pytest.param([(ONE, 1), (ONE + TWO, 2), (TWO + YES, 3)], "abc", (), id="the last turns"),
        pytest.param([(YES, 1), (AGAIN, 2)], "cc", ('"c" is there 2 times',), id="said again"),
        pytest.param([(ONE, 1), (TWO, 1)], "ab", ("began at the same or an unknown time",), id="no order"),
    ],
)
def test_traces_of_one_conversation_are_one_task(tmp_path: Path, parts: Any, texts: str, notes: Any) -> None:
    for name in ("gen_ai.conversation_id", "session_id"):
        spans = [trace(number, said, began, **{name: "s"}) for number, (said, began) in enumerate(parts)]
        other = trace(9, [{"role": "user", "content": "z"}, HELLO], 9, **{name: "other"})
        path, left_out = draft_file(tmp_path, *spans, other)
        assert not left_out
        (task, _) = read_tasks(path).queries()
        assert "".join(turn.text for turn in task.turns) == texts
        text = path.read_text(encoding="utf-8")
        assert f"joined with {len(parts) - 1} later traces" in text
        assert all(note in text for note in notes)
        assert text.count("is there 2 times") == (texts == "cc")
