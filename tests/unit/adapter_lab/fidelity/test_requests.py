from __future__ import annotations

from typing import Any

import pytest
from support.cases import for_each
from support.fidelity import model_call, observed, request

from trialbed.records import ModelCall
from trialbed_adapter_lab.errors import NotMeasured
from trialbed_adapter_lab.fidelity.reading import body, explain, messages, sent_tools
from trialbed_adapter_lab.harness import ObservedRequest


def logged(call: ModelCall) -> ObservedRequest:
    (found,) = observed(call).requests
    return found


def test_a_body_is_read() -> None:
    sent = request({"role": "user", "content": "Grüße"})
    assert body(logged(model_call(sent))) == sent


def test_a_body_that_the_log_cut_is_told_apart() -> None:
    whole = model_call(request({"role": "user", "content": "x" * 100}))
    cut = whole.model_copy(update={"request": f"{whole.request[:50]}…[cut: 50 of 200 characters kept]"})
    with pytest.raises(NotMeasured, match="wire log keeps"):
        body(logged(cut))


@for_each("text", ["", "[]", "{", "null"])
def test_a_body_that_is_no_object_is_not_measured(text: str) -> None:
    with pytest.raises(NotMeasured, match="not a JSON object"):
        body(logged(model_call({}, request=text, request_bytes=len(text))))


def test_ids_of_calls_are_numbered_as_they_come() -> None:
    def conversation(first: str, second: str) -> list[object]:
        calls = [{"id": first, "function": {"name": "id"}}, {"id": second, "function": {"name": "b"}}]
        return messages(
            request(
                {"role": "assistant", "tool_calls": calls},
                {"role": "tool", "tool_call_id": second, "content": "2"},
                {"role": "tool", "tool_call_id": first, "content": "1"},
            )
        )

    assert conversation("abc", "def") == conversation("x-1", "x-2")
    assert conversation("abc", "abc") != conversation("x-1", "x-2")


def test_the_order_of_fields_changes_no_number() -> None:
    """A framework gives items back as they came, or as its vendor's SDK writes them."""

    def conversation(*turn: str) -> list[object]:
        thought, said = {"type": "reasoning", "id": "rs_1"}, {"type": "message", "role": "assistant", "id": "msg_1"}
        calls = [
            {"type": "function_call", "id": f"fc_{number}", "call_id": f"c{number}", "name": "a"} for number in (1, 2)
        ]
        results = [{"type": "function_call_output", "call_id": f"c{number}", "output": ""} for number in (2, 1)]
        items = [thought, said, *({name: item[name] for name in turn} for item in calls), *results]
        return messages({"input": items})

    as_it_came = conversation("type", "id", "call_id", "name")
    assert as_it_came == conversation("call_id", "name", "type", "id")
    assert as_it_came[3] == {"type": "function_call", "id": "item-4", "call_id": "call-2", "name": "a"}


def test_arguments_that_are_called_like_ids_are_kept() -> None:
    use = {"type": "tool_use", "id": "t", "name": "a", "input": {"id": "Oslo", "of": [{"call_id": "x"}]}}
    (said,) = messages({"messages": [{"role": "assistant", "content": [use]}]})
    assert said["content"] == [{**use, "id": "call-1"}]


def test_the_tools_of_a_request_are_read() -> None:
    function = {"name": "a", "description": "d", "parameters": {}, "strict": True}
    (tool,) = sent_tools({"tools": [{"type": "function", "function": function, "cache": 1}]})
    assert (tool.name, tool.function, tool.beside) == ("a", function, {"cache": 1})
    assert sent_tools({}) == []
    assert sent_tools({"tools": None}) == []


@for_each("tool", ["a", {}, {"name": "flat"}, {"function": "f"}, {"function": {"name": 3}}])
def test_a_tool_of_another_form_is_not_measured(tool: object) -> None:
    with pytest.raises(NotMeasured, match="not a function"):
        sent_tools({"tools": [tool]})


USER = {"role": "user", "content": "What?"}
SAID = {"role": "assistant", "content": "calls"}


def step(number: int, **fields: Any) -> Any:
    """The request of a step of a conversation."""
    return model_call(request(USER, *[SAID] * number, **fields))


def summary(number: int = 0) -> Any:
    return model_call(request({"role": "user", "content": "Summarise."}, *[SAID] * number))


TURNED = model_call(dict(reversed(request(USER).items())))


@for_each(
    ("calls", "repeated", "aside", "beyond"),
    [
        ([step(0), step(1), step(2)], 0, 0, 0),
        ([step(0), step(0), step(1), step(2)], 1, 0, 0),
        ([step(0), TURNED, step(1), step(2)], 1, 0, 0),
        ([step(0), step(1), summary(), step(2)], 0, 1, 0),
        ([summary(), step(0), step(1), step(2)], 0, 1, 0),
        ([step(0), step(1), summary(1), step(2), summary(2)], 0, 2, 0),
        ([step(0), step(0, temperature=1.0), step(1), step(2)], 0, 1, 0),
        ([step(0), model_call({"input": "text"}), step(1), step(2)], 0, 1, 0),
        ([step(0), step(1), step(2), step(3)], 0, 0, 1),
        ([step(0), step(1)], 0, 0, -1),
        ([], 0, 0, -3),
    ],
    ids=[
        "a plain conversation",
        "a request twice",
        "twice, with its keys in another order",
        "a summary between",
        "a summary before",
        "summaries of conversations",
        "a retry with other settings",
        "a request without messages",
        "a step too many",
        "a step too few",
        "nothing",
    ],
)
def test_requests_are_sorted(calls: list[Any], repeated: int, aside: int, beyond: int) -> None:
    found = explain(observed(*calls).requests, 3)
    assert (found.seen, found.repeated, found.aside, found.beyond) == (len(calls), repeated, aside, beyond)
    assert (found.extra, found.missing) == (repeated + aside + max(0, beyond), max(0, -beyond))


def test_a_request_that_was_cut_explains_nothing() -> None:
    with pytest.raises(NotMeasured):
        explain([logged(step(0).model_copy(update={"request_bytes": 10**6}))], 1)


def test_tools_and_conversations_of_other_dialects_are_read() -> None:
    schema = {"type": "object"}
    (response,) = sent_tools({"tools": [{"type": "function", "name": "a", "parameters": schema, "strict": True}]})
    assert (response.name, response.function, response.beside) == (
        "a",
        {"name": "a", "parameters": schema},
        {"strict": True},
    )
    (message,) = sent_tools({"tools": [{"name": "a", "description": "d", "input_schema": schema, "cache_control": {}}]})
    assert message.function == {"name": "a", "description": "d", "parameters": schema}
    assert message.beside == {"cache_control": {}}
    items = [{"type": "function_call", "id": "fc_9", "call_id": "c"}, {"type": "function_call_output", "call_id": "c"}]
    told, question, made, result = messages({"instructions": "Do.", "input": [{"role": "user"}, *items]})
    assert (told, question) == ({"role": "system", "content": "Do."}, {"role": "user"})
    assert (made["id"], made["call_id"], result["call_id"]) == ("item-1", "call-1", "call-1")
    assert messages({"system": "Do.", "messages": []}) == [told]
    assert messages({"input": "What?"}) == [{"role": "user", "content": "What?"}]
