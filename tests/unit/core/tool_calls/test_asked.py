from __future__ import annotations

from collections.abc import Sequence

from support.scoring import NOON, api_call, model_call, sent_call, tool

from trialbed.records import ApiCall, ModelCall, SentCall, WireLog
from trialbed.tool_calls import NOT_MADE, AskedCall, asked_calls

TOOLS = [tool("a"), tool("b")]


def found(models: Sequence[ModelCall], apis: Sequence[ApiCall], unasked: Sequence[ApiCall] = ()) -> list[AskedCall]:
    wire = WireLog(trial="token", opened_at=NOON, model_calls=tuple(models), api_calls=tuple(apis))
    return list(asked_calls(wire, TOOLS, unasked))


def test_calls_stand_in_the_order_of_time_with_what_became_of_them() -> None:
    asked = [model_call(sent=[sent_call("a", "{", "invalid json"), sent_call("a", '{"x": 1}')], duration=1.0)]
    seen = [api_call("a", {"x": 1}, started=2, response="fine"), api_call("b", started=3, error="no")]
    calls = found(asked, seen)
    assert [(call.name, call.reached, call.problem) for call in calls] == [
        ("t_a", False, "invalid json"),
        ("t_a", True, ""),
        ("t_b", True, "no"),
    ]
    assert [call.accepted for call in calls] == [False, True, False]
    assert calls[1].response == "fine"


def test_a_call_that_the_framework_converted_is_the_same_call() -> None:
    assert len(found([model_call(sent=[sent_call("a", '{"x": "1"}')])], [api_call("a", {"x": 1})])) == 1


def test_calls_that_the_framework_did_not_make_are_told() -> None:
    asked = [model_call(sent=[sent_call("a", '{"x": 1}'), sent_call("a", '{"x": 2}')])]
    calls = found(asked, [api_call("a", {"x": 2})])
    assert [(call.arguments, call.problem) for call in calls] == [('{"x": 1}', NOT_MADE), ({"x": 2}, "")]


def test_of_several_calls_the_one_was_made_that_says_the_same() -> None:
    asked = [model_call(sent=[sent_call("a", '{"y": null}'), sent_call("a", '{"x": 1, "y": null}')])]
    calls = found(asked, [api_call("a", {"x": 1})])
    assert [(call.arguments, call.problem) for call in calls] == [('{"y": null}', NOT_MADE), ({"x": 1}, "")]


def test_calls_of_one_answer_stand_in_its_order_whichever_arrives_first() -> None:
    asked = [
        model_call(sent=[sent_call("a", '{"x": 1}'), sent_call("b"), sent_call("a", '{"x": "3"}')], duration=1.0),
        model_call(sent=[sent_call("a", '{"x": 1}')], started=5.0, duration=1.0),
    ]
    seen = [
        api_call("a", {"x": 3}, started=1.1),
        api_call("b", started=1.2),
        api_call("b", {"y": 0}, started=1.3),
        api_call("a", {"x": 1}, started=1.4),
        api_call("a", {"x": 1}, started=6.1, response="again"),
    ]
    calls = found(asked, seen)
    assert [call.arguments for call in calls] == [{"x": 1}, {}, {"x": 3}, {"y": 0}, {"x": 1}]
    assert calls[-1].response == "again"


def test_calls_under_another_name_are_their_tools() -> None:
    renamed = SentCall(name="renamed", arguments="{}", tool="t_a")
    assert len(found([model_call(sent=[renamed])], [api_call("a")])) == 1


def test_unasked_calls_and_the_frameworks_own_are_left_out() -> None:
    own = SentCall(name="think", arguments="{}")
    call = api_call("a")
    assert found([model_call(sent=[own])], [call], [call]) == []


def test_equal_calls_have_equal_signatures() -> None:
    one, other = found([], [api_call("a", {"x": 1, "y": 2}), api_call("a", {"y": 2.0, "x": 1})])
    assert one.signature == other.signature
