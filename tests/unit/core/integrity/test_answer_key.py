"""Gold values in requests, with and without a source in the trial."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from support.cases import for_each

from trialbed.integrity import answer_key, unsourced
from trialbed.records import Api, ApiCall, ApiRef, GoldCall, ModelCall, Query, ToolSpec, WireLog

NOON = datetime(2026, 1, 2, tzinfo=UTC)
CITY = ApiRef(category="Geography", tool_name="Atlas", api_name="City")
QUERY = Query(
    query_id=1,
    text="Who is the mayor of Ostrebridge?",
    apis=(Api(category="Geography", tool_name="Atlas", api_name="City", description="Such as Velmora."),),
    gold_calls=(GoldCall(api=CITY, arguments={"city_id": "CT-153", "near": "Velmora", "name": "Ostrebridge"}),),
    reference_facts=("Mirel Tidemark", "14210"),
)
FOUND = ApiCall(started=0.5, duration=0.1, api=CITY, offered=True, arguments={}, response={"id": "CT-153"})


def turn(asked: object, said: str = "", at: float = 1.0) -> ModelCall:
    request = json.dumps({"model": "m", "messages": [{"role": "user", "content": asked}]})
    response = json.dumps({"choices": [{"message": {"role": "assistant", "content": said}}]})
    return ModelCall(
        started=at, duration=0.5, status=200, request=request, response=response, request_bytes=0, response_bytes=0
    )


def log(*turns: ModelCall, calls: tuple[ApiCall, ...] = ()) -> WireLog:
    return WireLog(trial="t", opened_at=NOON, model_calls=turns, api_calls=calls)


@for_each(
    ("wire", "found"),
    [
        (log(turn(QUERY.text)), ()),
        (log(turn(f"{QUERY.text} Ask for CT-153.")), ("CT-153",)),
        (log(turn("The answer is Mirel Tidemark, one of 14210.")), ("Mirel Tidemark", "14210")),
        # One name or one number may stand in any prompt.
        (log(turn("You were made by Mirel Tidemark.")), ()),
        (log(turn("At most 14210 tokens.")), ()),
        # The task, and the documentation of its Apis.
        (log(turn("Ostrebridge, Velmora")), ()),
        # What an Api returned, or the model said, before.
        (log(turn("The id is CT-153."), calls=(FOUND,)), ()),
        (log(turn("The id is CT-153.", at=0.4), calls=(FOUND,)), ("CT-153",)),
        (log(turn("?", "CT-153?", at=0.1), turn("CT-153 it is.")), ()),
        # A request that no model answered gave nothing away.
        (log(turn("CT-153").model_copy(update={"status": 404, "cause": "request"})), ()),
    ],
)
def test_a_gold_value_without_a_source_is_from_the_dataset(wire: WireLog, found: tuple[str, ...]) -> None:
    assert answer_key(QUERY, wire) == found


def test_the_documentation_of_tools_on_offer_is_a_source() -> None:
    tool = ToolSpec(name="City", description="", parameters={"examples": ["CT-153"]}, api=CITY)
    assert answer_key(QUERY, log(turn("CT-153")), [tool]) == ()


def test_words_that_a_request_gave_the_model_are_no_source_of_an_answer() -> None:
    answer, key = "It is Mirel Tidemark.", "The answer is Mirel Tidemark of CT-153."
    assert "which a request gave the model" in unsourced(QUERY, answer, log(turn(key, answer)))
    assert unsourced(QUERY, answer, log(turn(QUERY.text, answer))) == ""
    told = FOUND.model_copy(update={"response": {"mayor": "Mirel Tidemark"}})
    assert unsourced(QUERY, answer, log(turn(key, answer), calls=(told,))) == ""
