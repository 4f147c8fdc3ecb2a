"""Which results were used."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from support.cases import for_each
from support.scoring import NOON, api_call, model_call, ref

from trialbed.records import ApiCall, ModelCall, Query, WireLog
from trialbed.tool_calls import AskedCall, Uses, relied_on

QUERY = Query(query_id=1, text="Who is the mayor of Pelluin?", apis=())


def call(response: Any, arguments: Any = None, started: float = 0.0) -> AskedCall:
    return AskedCall("a", ref("a"), arguments or {}, started, True, "", response)


@for_each(
    ("response", "answer", "used"),
    [
        ({"mayor": "Mirel Tidemark"}, "Mirel Tidemark is.", True),
        ({"mayor": "Mirel Tidemark"}, "I do not know.", False),
        ({"city": "Pelluin"}, "Pelluin", None),
        ({"id": "CT-1"}, "CT-1", None),
        ([], "", None),
        (None, "None", None),
        ('{"mayor": "Mirel Tidemark"}', "mirel  tidemark", True),
    ],
)
def test_only_what_is_new_is_evidence(response: Any, answer: str, used: bool | None) -> None:
    assert Uses(QUERY, answer, []).of(call(response, {"id": "CT-1"})) is used


SHELF = {"title": "Dune", "shelf": "A3", "copies": 2, "id": 7}


@for_each(
    ("answer", "later", "used"),
    [
        ("Dune stands there.", {}, True),
        ("It is on shelf A3.", {}, None),
        ("There are 2.", {}, None),
        ("I reserved it.", {"book": 7}, None),
        ("It is on shelf A4; there are 12.", {}, False),
        ("I do not know.", {"book": 1}, False),
    ],
)
def test_a_short_value_shows_neither_use_nor_disuse(answer: str, later: Any, used: bool | None) -> None:
    uses = Uses(QUERY, answer, [call({}, later, 2.0)])
    assert uses.shows(call(SHELF, started=1.0)) is used
    assert uses.of(call(SHELF, started=1.0)) is (used or False)


def test_a_short_value_that_the_task_or_the_call_itself_says_leaves_nothing_open() -> None:
    query = QUERY.model_copy(update={"text": "Which of the 2 shelves?"})
    assert Uses(query, "One of the 2.", []).shows(call(SHELF)) is False
    assert Uses(QUERY, "Book 7.", []).shows(call(SHELF, {"id": 7})) is False
    assert Uses(QUERY, "", [call({}, {"book": 7}, 0.5)]).shows(call(SHELF, started=1.0)) is False


def test_a_later_call_may_use_a_result_but_not_an_earlier_one() -> None:
    one = call({"id": "CT-153"}, started=1.0)
    assert Uses(QUERY, "", [call({}, {"id": "CT-153"}, 2.0)]).of(one) is True
    assert Uses(QUERY, "", [call({}, {"id": "CT-153"}, 0.5)]).of(one) is False


def test_a_call_of_the_same_answer_was_asked_for_without_the_result() -> None:
    first, second = (replace(call({"id": "CT-153"}, {}, started), asked=1.0) for started in (1.1, 1.2))
    beside = replace(second, arguments={"id": "CT-153"})
    assert Uses(QUERY, "", [first, beside]).of(first) is False
    assert Uses(QUERY, "", [first, replace(beside, asked=1.5, started=1.6)]).of(first) is True


def test_dates_and_marks_are_found_in_later_calls_too() -> None:
    later = [call({}, {"day": "3 May 2026"}, 2.0), call({}, {"mark": "***"}, 3.0)]
    assert Uses(QUERY, "", later).of(call({"day": "2026-05-03"}, started=1.0)) is True
    assert Uses(QUERY, "", later).of(call({"day": "2026-05-04"}, started=1.0)) is False


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


@pytest.mark.parametrize("refused", [{"error": "invalid arguments"}, {"status": 500}])
def test_a_refused_call_gives_nothing(refused: dict[str, Any]) -> None:
    assert not relies(foreign(**refused))


def test_what_returns_after_the_model_has_written_the_answer_is_not_in_it() -> None:
    assert relies(foreign(started=4, duration=1))
    assert not relies(foreign(started=4, duration=2))


def test_an_answer_that_the_model_did_not_write_may_rest_on_later_calls() -> None:
    assert relies(foreign(started=6), answered("I do not know."))
    assert relies(foreign(started=6), answered(status=500))


def test_what_another_result_says_too_is_not_needed() -> None:
    assert not relies(foreign(), results=({"name": "Mirel Tidemark"},))


def test_a_result_without_values_to_look_for_may_have_been_used() -> None:
    assert relies(foreign(response={"is_mayor": True}))
