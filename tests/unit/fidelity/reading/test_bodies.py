from __future__ import annotations

import pytest
from support.fidelity import model_call, request

from trialbed_fidelity._not_measured import NotMeasured
from trialbed_fidelity.reading._bodies import body, messages, sent_tools


def test_a_body_is_read() -> None:
    sent = request({"role": "user", "content": "Grüße"})
    assert body(model_call(sent)) == sent


def test_a_body_that_the_log_cut_is_told_apart() -> None:
    whole = model_call(request({"role": "user", "content": "x" * 100}))
    cut = whole.model_copy(update={"request": f"{whole.request[:50]}…[cut: 50 of 200 characters kept]"})
    with pytest.raises(NotMeasured, match="wire log keeps"):
        body(cut)


@pytest.mark.parametrize("text", ["", "[]", "{", "null"])
def test_a_body_that_is_no_object_is_not_measured(text: str) -> None:
    with pytest.raises(NotMeasured, match="no JSON object"):
        body(model_call({}, request=text, request_bytes=len(text)))


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


def test_the_tools_of_a_request_are_read() -> None:
    function = {"name": "a", "description": "d", "parameters": {}, "strict": True}
    (tool,) = sent_tools({"tools": [{"type": "function", "function": function, "cache": 1}]})
    assert (tool.name, tool.function, tool.beside) == ("a", function, {"cache": 1})
    assert sent_tools({}) == []
    assert sent_tools({"tools": None}) == []


@pytest.mark.parametrize("tool", ["a", {}, {"name": "flat"}, {"function": "f"}, {"function": {"name": 3}}])
def test_a_tool_of_another_form_is_not_measured(tool: object) -> None:
    with pytest.raises(NotMeasured, match="no function"):
        sent_tools({"tools": [tool]})
