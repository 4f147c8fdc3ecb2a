from __future__ import annotations

import json

from trialbed_adapter_lab.harness import FAULTY_ANSWERS, FINAL_TEXT
from trialbed_adapter_lab.harness._endpoint import Answer, ErringModel
from trialbed_scripted import ReceivedRequest, Response, Turn, say


def answers(model: str) -> list[Answer]:
    """The answers to two requests."""
    tools = [{"type": "function", "function": {"name": "weather"}}]
    asked, erring = ReceivedRequest(0, {"model": model, "tools": tools}), ErringModel()
    return [erring(asked), erring(asked)]


def test_a_model_is_refused_always_or_once() -> None:
    first, second = answers("refuse-429")
    assert isinstance(first, Response)
    assert first == second
    assert first.status == 429
    first, second = answers("refuse-500-once/x")
    assert isinstance(first, Response)
    assert (first.status, second) == (500, say(FINAL_TEXT))


def test_only_the_first_answer_is_faulty() -> None:
    for name in FAULTY_ANSWERS:
        first, second = answers(f"faulty-{name}/x-y")
        assert first != second == say(FINAL_TEXT), name


def test_calls_are_of_a_tool_on_offer() -> None:
    first, _ = answers("faulty-arguments that are a list/x")
    assert isinstance(first, Turn)
    (call,) = first.calls
    assert call.name == "weather"
    assert json.loads(call.arguments) == [1]
