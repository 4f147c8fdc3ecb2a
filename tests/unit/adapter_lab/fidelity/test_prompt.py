from __future__ import annotations

import pytest
from support.fidelity import definition, model_call, observed, request

from trialbed.records import Failure
from trialbed_adapter_lab.errors import NotMeasured
from trialbed_adapter_lab.fidelity.traffic import compare_prompts
from trialbed_adapter_lab.harness import Observed, stations

TOOLS = [definition(tool) for tool in stations(4, 2).tools]
SYSTEM = {"role": "system", "content": "Do it."}
USER = {"role": "user", "content": "What?"}
SAID = {"role": "assistant", "content": "calls"}


def trial(system: str = "Do it.", turns: int = 2) -> Observed:
    first = {**SYSTEM, "content": system}
    return observed(*(model_call(request(first, USER, *[SAID] * turn, tools=TOOLS)) for turn in range(turns)))


def test_nothing_is_added_where_nothing_is_different() -> None:
    found = compare_prompts(trial(), trial(), 4)
    assert (found.request_bytes()[1], found.prompt_tokens()[1], found.first, found.last) == (0, 0, (), ())
    assert len(found.turns) == found.requests == 2


def test_what_is_added_is_counted_turn_by_turn() -> None:
    found = compare_prompts(trial(), trial("Do it. " + "x" * 40), 4)
    assert [turn.added_bytes for turn in found.turns] == [41, 41]
    assert [turn.added_tokens for turn in found.turns] in ([10, 10], [11, 11], [10, 11], [11, 10])
    assert [change.kind for change in found.first] == ["changed"]


def test_turns_that_only_one_of_both_has_are_not_compared() -> None:
    found = compare_prompts(trial(turns=2), trial(turns=4), 4)
    assert (found.requests, len(found.turns)) == (4, 2)
    assert found.request_bytes()[1] == 0


def test_a_trial_that_failed_is_not_measured() -> None:
    with pytest.raises(NotMeasured, match="agent: broke"):
        observed(failure=Failure(kind="agent", message="broke")).require_success()
    with pytest.raises(NotMeasured, match="no request"):
        observed().require_success()


def test_a_prompt_is_compared_within_its_dialect() -> None:
    def spoken(text: str) -> Observed:
        body = {"model": "m", "instructions": text, "input": [USER], "tools": []}
        return observed(model_call(body, dialect="responses"))

    found = compare_prompts(spoken("Do it."), spoken("Do it. Now."), 4)
    assert (found.dialects, [change.role for change in found.first]) == (("responses",), ["system"])
    assert found.request_bytes()[1] == 5
