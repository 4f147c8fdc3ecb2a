from __future__ import annotations

from typing import Any

import pytest

from trialbed_adapter_lab.fidelity.reading import MessageChange, message_changes

SYSTEM = {"role": "system", "content": "Do it."}
USER = {"role": "user", "content": "What?"}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "call-1"}]}
RESULT = {"role": "tool", "tool_call_id": "call-1", "content": "42"}
WHOLE = [SYSTEM, USER, CALL, RESULT]


def kinds(sent: list[dict[str, Any]]) -> list[tuple[str, str, int]]:
    return [(change.kind, change.role, change.index) for change in message_changes(WHOLE, sent)]


def test_the_same_conversation_has_no_changes() -> None:
    assert kinds([dict(message) for message in WHOLE]) == []


def test_the_order_of_keys_is_no_change() -> None:
    assert kinds([dict(reversed(message.items())) for message in WHOLE]) == []


def test_an_added_message_is_found_wherever_it_stands() -> None:
    extra = {"role": "user", "content": "Think."}
    assert kinds([extra, *WHOLE]) == [("added", "user", 0)]
    assert kinds([SYSTEM, extra, USER, CALL, RESULT]) == [("added", "user", 1)]
    assert kinds([*WHOLE, extra]) == [("added", "user", 4)]


def test_a_lost_message_is_found() -> None:
    assert kinds([USER, CALL, RESULT]) == [("lost", "system", 0)]


def test_a_changed_message_says_what_of_it() -> None:
    (change,) = message_changes(WHOLE, [{**SYSTEM, "content": "Do it. Think!"}, USER, CALL, RESULT])
    assert (change.kind, change.role) == ("changed", "system")
    (difference,) = change.differences
    assert (difference.pointer, difference.given, difference.sent) == ("/content", "Do it.", "Do it. Think!")


@pytest.mark.parametrize(
    ("sent", "pointers"),
    [
        ({**SYSTEM, "role": "developer"}, {"/role"}),
        ({**SYSTEM, "name": "boss"}, {"/name"}),
        ({"role": "system"}, {"/content"}),
    ],
)
def test_another_role_and_other_fields_are_changes(sent: dict[str, Any], pointers: set[str]) -> None:
    (change,) = message_changes(WHOLE, [sent, USER, CALL, RESULT])
    assert change.kind == "changed"
    assert {difference.pointer for difference in change.differences} == pointers


def test_a_changed_message_and_an_added_one_side_by_side_are_told_apart() -> None:
    changed = {**SYSTEM, "content": "Do it. At once."}
    example = {"role": "user", "content": "An example"}
    assert kinds([changed, example, USER, CALL, RESULT]) == [("changed", "system", 0), ("added", "user", 1)]
    reply = {"role": "assistant", "content": "I will."}
    assert kinds([changed, reply, USER, CALL, RESULT]) == [("changed", "system", 0), ("added", "assistant", 1)]


def test_changes_can_be_written_and_read() -> None:
    (change,) = message_changes(WHOLE, [USER, CALL, RESULT])
    assert MessageChange.model_validate_json(change.model_dump_json()) == change
