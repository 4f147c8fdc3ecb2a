"""The sources of an answer, and claims of calls that nobody made."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from support.cases import for_each

from trialbed.answers import look_up_claims
from trialbed.integrity import unsourced
from trialbed.records import Answer, ApiCall, ApiRef, ClaimedCall, ModelCall, Query, SentCall, ToolSpec, WireLog
from trialbed.tool_calls import compare_calls

NOON = datetime(2026, 1, 2, tzinfo=UTC)
API = ApiRef(category="C", tool_name="Shop", api_name="Price")
TOOL = ToolSpec(name="Shop_Price", description="", parameters={}, api=API)
FACTS = Query(query_id=1, text="What does the blue lamp cost?", apis=(), reference_facts=("49.90",))
NO_FACTS = Query(query_id=1, text="What does the blue lamp cost?", apis=())
CALL = ApiCall(started=1, duration=1, api=API, offered=True, arguments={}, response={"price": 49.90, "name": "Aurora"})


def turn(text: str, *calls: str, at: float = 2.0) -> ModelCall:
    response = json.dumps({"choices": [{"message": {"role": "assistant", "content": text}}]})
    sent = tuple(SentCall(name=name, arguments="{}") for name in calls)
    return ModelCall(
        started=at, duration=1, status=200, request="{}", response=response, request_bytes=0, response_bytes=0,
        tool_calls=sent,
    )  # fmt: skip


def log(*turns: ModelCall, calls: tuple[ApiCall, ...] = (CALL,)) -> WireLog:
    return WireLog(trial="t", opened_at=NOON, model_calls=turns, api_calls=calls)


@for_each(
    ("answer", "wire", "reason"),
    [
        ("It costs 49.90.", log(turn("It costs 49.90.")), ""),
        # The framework shows a part, or writes what the model said in other words.
        ("49.90", log(turn("It costs 49.90.")), ""),
        ("Price: 49.90 EUR", log(turn("It costs 49.9.")), ""),
        # Tools whose result is the answer: the model ended with the call.
        ("Aurora: 49.90", log(turn("", "Shop_Price")), ""),
        # Code whose result is the answer.
        ("49.90", log(turn("```python\nfinal_answer(price())\n```")), ""),
        # From nowhere: no Api was called, and the model said nothing of it.
        ("It costs 49.90.", log(turn("I do not know."), calls=()), "but no answer of the model says so"),
        ("It costs 49.90.", log(turn("", "Shop_Price"), calls=()), "and no tool returned it"),
        # For a model that gave up.
        ("It costs 49.90.", log(turn("GIVE_UP These tools do not solve it.")), "but no answer of the model says so"),
        # An answer of a model that the gateway does not see, as agents of the caller's own program may have.
        ("It costs 49.90.", log(calls=()), ""),
    ],
)
def test_a_fact_has_a_source_in_the_trial(answer: str, wire: WireLog, reason: str) -> None:
    found = unsourced(FACTS, answer, wire)
    assert reason in found
    assert bool(found) == bool(reason)


def test_a_framework_cannot_answer_for_a_model_that_ended_with_other_words() -> None:
    gave_up = log(turn("GIVE_UP These tools do not solve it."))
    assert "the model ended without any of them" in unsourced(NO_FACTS, "Aurora costs 49.90.", gave_up)
    assert unsourced(NO_FACTS, "Aurora costs 49.90.", log(turn("Aurora it is."))) == ""
    assert unsourced(NO_FACTS, "I am sorry.", gave_up) == ""


def test_a_framework_cannot_answer_for_a_model_that_calls_without_end() -> None:
    again = log(*(turn("", "Shop_Price", at=time) for time in (0.0, 2.0, 4.0)), calls=(CALL, CALL))
    assert "the model ended without any of them" in unsourced(NO_FACTS, "Aurora costs 49.90.", again)
    assert "no answer of the model says so" in unsourced(FACTS, "It costs 49.90.", again)
    refused = CALL.model_copy(update={"error": "try again"})
    once = log(*(turn("", "Shop_Price", at=time) for time in (0.0, 2.0)), calls=(refused, CALL))
    assert unsourced(NO_FACTS, "Aurora costs 49.90.", once) == ""


def test_a_claim_is_looked_up_by_the_name_of_its_tool() -> None:
    claims = tuple(ClaimedCall(name=name) for name in ("Shop_Price", "final_answer", "invented"))
    answer = look_up_claims(Answer(final_answer="x", calls=claims), (), [TOOL])
    assert [call.api for call in answer.calls] == [API, None, None]
    found = compare_calls(answer, log(turn("", "final_answer"), calls=()))
    assert found.invented == (("", "invented"), ("Shop", "Price"))
    assert compare_calls(answer, log(turn("", "final_answer"))).invented == (("", "invented"),)
    assert compare_calls(answer, log(calls=())).invented == (("Shop", "Price"),)
