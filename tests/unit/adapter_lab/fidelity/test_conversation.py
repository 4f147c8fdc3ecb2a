from __future__ import annotations

from typing import Any

from support.cases import for_each

from trialbed_adapter_lab.fidelity.reading import message_changes

SYSTEM = {"role": "system", "content": "Do it."}
USER = {"role": "user", "content": "What?"}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "call-1"}]}
RESULT = {"role": "tool", "tool_call_id": "call-1", "content": "42"}
WHOLE = [SYSTEM, USER, CALL, RESULT]


EXTRA = {"role": "user", "content": "Think."}
CHANGED = {**SYSTEM, "content": "Do it. At once."}
REPLY = {"role": "assistant", "content": "I will."}


@for_each(
    ("sent", "changes"),
    [
        (WHOLE, []),
        ([dict(reversed(message.items())) for message in WHOLE], []),
        ([EXTRA, *WHOLE], [("added", "user", 0)]),
        ([SYSTEM, EXTRA, USER, CALL, RESULT], [("added", "user", 1)]),
        ([*WHOLE, EXTRA], [("added", "user", 4)]),
        ([USER, CALL, RESULT], [("lost", "system", 0)]),
        ([CHANGED, EXTRA, USER, CALL, RESULT], [("changed", "system", 0), ("added", "user", 1)]),
        ([CHANGED, REPLY, USER, CALL, RESULT], [("changed", "system", 0), ("added", "assistant", 1)]),
    ],
    ids=["same", "other order of keys", "first", "between", "last", "lost", "beside a changed one", "of another role"],
)
def test_messages_that_differ_are_found_where_they_stand(
    sent: list[dict[str, Any]], changes: list[tuple[str, str, int]]
) -> None:
    found = message_changes(WHOLE, [dict(message) for message in sent])
    assert [(change.kind, change.role, change.index) for change in found] == changes


def test_a_changed_message_says_what_of_it() -> None:
    (change,) = message_changes(WHOLE, [{**SYSTEM, "content": "Do it. Think!"}, USER, CALL, RESULT])
    assert (change.kind, change.role) == ("changed", "system")
    (difference,) = change.differences
    assert (difference.pointer, difference.given, difference.sent) == ("/content", "Do it.", "Do it. Think!")


@for_each(
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


def test_an_item_without_a_role_is_known_by_its_type() -> None:
    call = {"type": "function_call", "call_id": "c1", "name": "find", "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": "c1", "output": "42"}
    (found,) = message_changes([USER, call, result], [USER, call, {**result, "output": "43"}])
    assert (found.kind, found.role) == ("changed", "function call output")
