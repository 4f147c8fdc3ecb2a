"""What became of the expected calls of a trial."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each
from support.scoring import NOON, api_call, gold_call, model_call, ref, sent_call, tool

from trialbed.attribution import BY_FRAMEWORK, ENDED, attribute
from trialbed.records import (
    Answer,
    ApiCall,
    AttributedCall,
    Expected,
    Failure,
    FilledArgument,
    GoldCall,
    LostCall,
    ModelCall,
    Outcome,
    Query,
    Score,
    Timing,
    TrialKey,
    TrialResult,
    WireLog,
)

TOOLS = [tool("a"), tool("b")]
GOLD = gold_call("a", city="Pelluin")
RIGHT = api_call("a", {"city": "Pelluin"}, response={"mayor": "Mirel Tidemark"})
CRASH = Failure(kind="crash", message="it died")


def trial(
    called: Sequence[ApiCall] = (),
    asked: Sequence[ModelCall] = (),
    failure: Failure | None = None,
    lost: Sequence[LostCall] = (),
    **answer: Any,
) -> TrialResult:
    said = Answer(**{"final_answer": "It is Mirel Tidemark.", "finish": "give_answer"} | answer)
    return TrialResult(
        trial="token",
        key=TrialKey(framework="reference", query_id=1),
        seed=0,
        outcome=Outcome(started_at=NOON, wall_time=1, answer=None if failure else said, failure=failure),
        wire=WireLog(
            trial="token", opened_at=NOON, model_calls=tuple(asked), api_calls=tuple(called), lost=tuple(lost)
        ),
        timing=Timing(wall=1, model=0, tool=0, framework=1),
        selected_tools=(),
    )


def attributed(result: TrialResult, *gold: GoldCall) -> tuple[AttributedCall, ...]:
    query = Query(query_id=1, text="Who is the mayor of Pelluin?", apis=(), gold_calls=gold or (GOLD,))
    return attribute(query, TOOLS, result)


def test_a_result_that_reaches_the_answer_is_not_lost() -> None:
    assert attributed(trial([RIGHT])) == (AttributedCall(gold=GOLD),)


@for_each(
    ("expected", "label", "lost"),
    [(Expected(), "Solved", None), (Expected(), "Unsolved", "not used"), (None, "Solved", "not used")],
)
def test_a_result_is_not_lost_where_all_that_the_task_expects_is_met(
    expected: Expected | None, label: str, lost: str | None
) -> None:
    query = Query(query_id=1, text="Is there a mayor?", apis=(), gold_calls=(GOLD,), expected=expected)
    result = trial([RIGHT], final_answer="Yes, there is one.")
    judged = result.model_copy(update={"scores": (Score(name="sopr_score", value=1.0, label=label),)})
    (found,) = attribute(query, TOOLS, judged)
    assert found.lost == lost


UNKNOWN = model_call(sent=[sent_call("a", "{", "invalid json")])
OTHER = model_call(sent=[sent_call("b", "{", "invalid json")])
BESIDE = model_call(sent=[sent_call("b", "{", "invalid json"), sent_call("b")])
LIMIT = Failure(kind="limit", message="stopped by the limit")
NOT_MADE = model_call(sent=[sent_call("a", '{"city": "Pelluin"}')])
WRONG_NOT_MADE = model_call(sent=[sent_call("a", "{}")])


@for_each(
    ("result", "stage", "reason"),
    [
        (trial(), "not called", "the agent sent the model no request"),
        (trial([api_call("b", {"city": "Pelluin"})]), "not called", "the agent sent the model no request"),
        (trial([api_call("a", {"city": "?"})]), "wrong arguments", 'city: "?" instead of "Pelluin"'),
        (trial([api_call("a", {}, error="no city")]), "wrong arguments", "city is missing; it failed: no city"),
        (trial(asked=[UNKNOWN, model_call(started=1)]), "wrong arguments", "invalid json"),
        (trial(asked=[UNKNOWN]), "wrong arguments", f"{ENDED}: invalid json"),
        (trial(asked=[UNKNOWN], failure=CRASH), "wrong arguments", f"{ENDED}: invalid json"),
        (trial(asked=[UNKNOWN], failure=LIMIT), "wrong arguments", "invalid json"),
        (trial(asked=[BESIDE]), "not called", "the model did not ask for it"),
        (trial(asked=[OTHER]), "not called", f"{ENDED}: invalid json"),
        (
            trial(asked=[WRONG_NOT_MADE]),
            "wrong arguments",
            "city is missing; it failed: the framework did not make the call",
        ),
        (trial(asked=[NOT_MADE]), "not made", "the framework did not make the call"),
        (trial([api_call("a", {"city": "Pelluin"}, error="busy")]), "api failed", "busy"),
        (trial([RIGHT], failure=CRASH), "trial failed", "after the call (crash): it died"),
        (trial(failure=CRASH), "trial failed", "before it was called (crash): it died"),
        (trial([RIGHT], finish=None), "not used", "the agent did not finish"),
        (trial([RIGHT], finish="give_up_and_restart"), "not used", "the agent gave up"),
        (
            trial([RIGHT], final_answer="Pelluin has a mayor."),
            "not used",
            "nothing of its response is in the answer or in a later call",
        ),
        (
            trial(lost=[LostCall(position=0, tool="t_a", reason="no tools", detail="none")]),
            "not offered",
            "the framework's offer: no tools: none",
        ),
        (
            trial(lost=[LostCall(position=0, tool="t_a", reason="arguments")]),
            "wrong arguments",
            "the framework's offer: arguments",
        ),
    ],
)
def test_a_call_is_lost_at_the_first_stage_that_it_does_not_pass(result: TrialResult, stage: str, reason: str) -> None:
    (found,) = attributed(result)
    assert (found.gold, found.lost, found.reason) == (GOLD, stage, reason)
    # What is put down to the framework names the requests that show it.
    by_framework = stage == "not made" or reason.startswith(BY_FRAMEWORK)
    assert bool(found.requests) == (by_framework and bool(result.wire.model_calls))


def test_an_agent_that_ends_before_the_model_could_ask_is_not_the_models_doing() -> None:
    other = api_call("b", {"city": "Pelluin"}, started=2)
    asks = model_call(sent=[sent_call("b", '{"city": "Pelluin"}')], duration=1)
    (found,) = attributed(trial([other], [asks]))
    assert found.lost == "not called"
    assert found.reason == "the agent ended after 1 request without passing the result of b back"
    (found,) = attributed(trial([other], [asks, model_call(started=3)]))
    assert found.reason == "the model did not ask for it"
    # It asks again for what it was told: a loop is the model's, and so is an end at the limit of requests.
    again = [other, other.model_copy(update={"started": 5.0})]
    (found,) = attributed(trial(again, [asks, asks.model_copy(update={"started": 3.0})]))
    assert found.reason == "the model did not ask for it"
    query = Query(query_id=1, text="?", apis=(), gold_calls=(GOLD,))
    (found,) = attribute(query, TOOLS, trial([other], [asks]), max_steps=1)
    assert found.reason == "the model did not ask for it"


@for_each(
    ("message", "reason"),
    [
        ({"content": '<function=t_a{"city": "Pelluin"}</function>'}, "the model wrote the call as text"),
        (
            {"content": "", "reasoning_content": '<tool_call>\n{"name": "t_a", "arguments": {"city": "Pelluin"}}'},
            "the model wrote the call as text, in its reasoning",
        ),
        ({"content": "I could ask t_a for the city."}, "the model did not ask for it"),
    ],
)
def test_a_call_that_the_model_wrote_is_named_with_its_place(message: dict[str, str], reason: str) -> None:
    document = {"choices": [{"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}]}
    query = Query(query_id=1, text="?", apis=(), gold_calls=(gold_call("a", city="Pelluin"),))
    asked = [model_call(response=json.dumps(document))]
    (found,) = attribute(query, [tool("a", city={"type": "string"})], trial(asked=asked))
    assert (found.lost, found.reason) == ("not called", reason)


def test_what_was_not_selected_was_not_offered() -> None:
    (found,) = attributed(trial(), GoldCall(api=ref("c")))
    assert (found.lost, found.reason) == ("not offered", "its tool was not selected")


def test_calls_are_the_agents_own_if_the_scorers_found_none_unasked() -> None:
    """An agent in process may be led by a model that the gateway does not see, beside one that it sees."""
    query = Query(query_id=1, text="?", apis=(), gold_calls=(GOLD,))
    result = trial([api_call("a", {"city": "Pelluin"}, started=1)], [model_call()])
    led = result.model_copy(update={"scores": (Score(name="unasked_calls", value=0.0, bounded=False),)})
    assert [attribute(query, TOOLS, one)[0].lost for one in (led, result)] == [None, "not called"]


def test_a_failed_call_that_was_mended_is_not_lost() -> None:
    failed = api_call("a", {"city": "Pelluin"}, error="busy")
    (found,) = attributed(trial([failed, RIGHT]))
    assert found.lost is None


def test_each_gold_call_of_an_api_needs_a_call_of_its_own() -> None:
    first, second = attributed(trial([RIGHT]), GOLD, gold_call("a", city="Skellmoor"))
    assert (first.lost, second.lost) == (None, "not called")


def test_a_result_whose_use_cannot_be_seen_counts_as_used() -> None:
    silent = api_call("a", {"city": "Pelluin"}, response={"ok": True})
    assert attributed(trial([silent]))[0].lost is None


def test_long_reasons_are_one_line_and_cut() -> None:
    (found,) = attributed(trial([api_call("a", {"city": "Pelluin"}, error="first\nline " + "x" * 999)]))
    assert found.reason.startswith("first line xxx")
    assert len(found.reason) == 300


@for_each(
    ("parameters", "stage"),
    [
        ({"required": ["city"]}, "wrong arguments"),
        ({"required": []}, "api failed"),
        ({"type": "no such type"}, "api failed"),
        ({"$ref": "#/nowhere"}, "api failed"),
    ],
)
def test_without_gold_arguments_the_schema_tells_wrong_arguments_from_an_api_that_fails(
    parameters: dict[str, Any], stage: str
) -> None:
    spec = tool("a").model_copy(update={"parameters": parameters})
    query = Query(query_id=1, text="?", apis=(), gold_calls=(GoldCall(api=ref("a")),))
    (found,) = attribute(query, [spec], trial([api_call("a", {}, error="no city")]))
    assert (found.lost, found.reason) == (stage, "no city")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=6,
)


@given(json_values, json_values, st.text(max_size=20), json_values)
def test_whatever_is_sent_and_given_back_is_attributed(arguments: Any, response: Any, answer: str, wanted: Any) -> None:
    called = [
        api_call("a", error="", response=response, started=1).model_copy(update={"arguments": arguments}),
        api_call("b", error=answer, response=response, started=2).model_copy(update={"arguments": response}),
    ]
    gold = [gold_call("a", x=wanted), GoldCall(api=ref("b"))]
    found = attributed(trial(called, final_answer=answer), *gold)
    assert len(found) == 2
    assert all((call.lost is None) == (call.reason == "") for call in found)


SENT = model_call(request="{}", sent=[sent_call("a", '{"city": "Pelluin"}')])


def test_arguments_that_the_framework_changed_are_its_doing() -> None:
    changed = api_call("a", {"city": "Ostrebridge"}, error="no such city")
    (found,) = attributed(trial([changed], [SENT]))
    reason = "the framework changed the arguments that the model sent: city: "
    assert (found.lost, found.reason.startswith(reason)) == ("not made", True)
    assert found.reason.endswith("it failed: no such city")
    (found,) = attributed(trial([changed], [model_call(sent=[sent_call("a", '{"city": "Ostrebridge"}')])]))
    assert found.lost == "wrong arguments"


def test_an_argument_that_the_framework_requires_is_named() -> None:
    made_up = FilledArgument(position=0, tool="t_a", argument="direct", value=False)
    result = trial([api_call("a", {"city": "Pelluin", "direct": False})])
    (found,) = attributed(result.model_copy(update={"wire": result.wire.model_copy(update={"filled": (made_up,)})}))
    assert found.reason == ("the framework's offer: it requires optional arguments: direct is not in the expected call")


def told(text: str, **more: Any) -> ModelCall:
    request = json.dumps({"messages": [{"role": "tool", "content": text}]})
    return model_call(started=1, **{"request": request} | more)


@for_each(
    ("turns", "reason"),
    [
        ([told("cut")], "the framework did not tell the model of its response"),
        ([told("It is M\u00edrel.")], "the framework did not tell the model of its response"),
        ([told('{"mayor": "Mirel Tidemark"}')], "nothing of its response is in the answer or in a later call"),
        ([told('{"mayor": "Mirel \\u0054idemark"}')], "nothing of its response is in the answer or in a later call"),
        (
            [told("cut", request='{"messages": [{…[cut: 14 of 900 characters kept]')],
            "nothing of its response is in the answer or in a later call",
        ),
        ([], "nothing of its response is in the answer or in a later call"),
        (
            [told("cut", response=json.dumps({"choices": [{"message": {"content": "Mirel Tidemark"}}]}))],
            "the framework gave another answer than the model's last text, which has something of its response",
        ),
    ],
)
def test_the_wire_says_why_a_result_was_not_used(turns: list[ModelCall], reason: str) -> None:
    (found,) = attributed(trial([RIGHT], [SENT, *turns], final_answer="I do not know."))
    assert (found.lost, found.reason) == ("not used", reason)
