from __future__ import annotations

import json
from typing import Any

import pytest

from trialbed_adapter_lab.harness import FAULTY_ANSWERS, FINAL_TEXT
from trialbed_adapter_lab.harness._endpoint import erring_answer

REQUEST: dict[str, Any] = {"tools": [{"type": "function", "function": {"name": "weather"}}]}


def said(body: dict[str, Any]) -> Any:
    return body["choices"][0]["message"]["content"]


@pytest.mark.parametrize(("model", "statuses"), [("refuse-429", [429, 429]), ("refuse-500-once/x", [500, 200])])
def test_a_model_is_refused_always_or_once(model: str, statuses: list[int]) -> None:
    assert [erring_answer(model, asked, REQUEST)[0] for asked in range(2)] == statuses


@pytest.mark.parametrize("name", FAULTY_ANSWERS)
def test_only_the_first_answer_is_faulty(name: str) -> None:
    first, second = (erring_answer(f"faulty-{name}/x-y", asked, REQUEST) for asked in range(2))
    assert first[0] == second[0] == 200
    assert said(second[1]) == FINAL_TEXT
    assert first[1] != second[1]


def test_calls_are_of_a_tool_on_offer() -> None:
    (call,) = erring_answer("faulty-list/x", 0, REQUEST)[1]["choices"][0]["message"]["tool_calls"]
    assert call["function"]["name"] == "weather"
    assert json.loads(call["function"]["arguments"]) == [1]
