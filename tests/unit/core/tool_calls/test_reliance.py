from __future__ import annotations

import json
from typing import Any

import pytest
from support.scoring import NOON, api_call, model_call

from trialbed.records import ApiCall, ModelCall, Query, WireLog
from trialbed.tool_calls import AskedCall, relied_on

QUERY = Query(query_id=1, text="Who is the mayor of Pelluin?", apis=())
ANSWER = "It is Mirel Tidemark."


def foreign(**more: Any) -> ApiCall:
    return api_call("a", **{"response": {"mayor": "Mirel Tidemark"}, "started": 1, "duration": 1} | more)


def answered(text: str = ANSWER, **more: Any) -> ModelCall:
    body = {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}
    return model_call(response=json.dumps(body), **{"started": 3, "duration": 2} | more)


def relies(call: ApiCall, *turns: ModelCall, results: tuple[Any, ...] = ()) -> bool:
    wire = WireLog(trial="t", opened_at=NOON, model_calls=turns or (answered(),), api_calls=(call,))
    asked = [AskedCall("b", None, {}, 0, True, response=response) for response in results]
    return relied_on(QUERY, ANSWER, wire, [call], asked) == (call,)


def test_a_result_that_is_in_the_answer() -> None:
    assert relies(foreign())


@pytest.mark.parametrize("refused", [{"error": "invalid arguments"}, {"status": 500}])
def test_a_refused_call_gives_nothing(refused: dict[str, Any]) -> None:
    assert not relies(foreign(**refused))


def test_what_returns_after_the_model_has_written_the_answer_is_not_in_it() -> None:
    assert relies(foreign(started=4, duration=1))
    assert not relies(foreign(started=4, duration=2))


def test_an_answer_that_the_model_did_not_write_may_rest_on_later_calls() -> None:
    assert relies(foreign(started=6), answered("I do not know."))
    assert relies(foreign(started=6), answered(status=500))


def test_a_result_of_which_the_answer_says_nothing() -> None:
    assert not relies(foreign(response={"founded": "in spring 1893"}))


def test_what_another_result_says_too_is_not_needed() -> None:
    assert not relies(foreign(), results=({"name": "Mirel Tidemark"},))


def test_a_result_without_values_to_look_for_may_have_been_used() -> None:
    assert relies(foreign(response={"is_mayor": True}))
