from __future__ import annotations

import pytest
from support.scoring import api_call, context, gold_call, model_call, scores, sent_call, values

from trialbed.records import ApiCall, ModelCall, SentCall
from trialbed.tool_calls import unasked_calls

BAD = api_call("a", {"x": 1}, error="no")
GOOD = api_call("a", {"x": 2}, started=5)
OTHER = api_call("b", {"x": 2}, started=6)


@pytest.mark.parametrize(
    ("gold", "called", "value"),
    [
        ("a", [GOOD], 1),
        ("a", [BAD, GOOD], 0.5),
        ("a", [BAD], 0),
        ("a", [api_call("a", status=500)], 0),
        ("a", [], 0),
        ("", [], 1),
        ("", [OTHER], 1),
    ],
)
async def test_success_is_what_an_api_accepted(gold: str, called: list[ApiCall], value: float) -> None:
    assert (await values(gold, called))["call_success"] == value


@pytest.mark.parametrize(
    ("sent", "problem"),
    [
        (sent_call("a", "{", "invalid json"), "invalid json"),
        (SentCall(name="nothing", arguments="{}", problem="unknown tool"), "unknown tool"),
        (sent_call("a", '{"x": 9}'), "the framework did not make the call"),
    ],
)
async def test_calls_that_reach_no_api_have_failed(sent: SentCall, problem: str) -> None:
    asked = [model_call(sent=[sent]), model_call(sent=[sent_call("a", '{"x": 2}')], started=2)]
    found = await scores("a", [GOOD], asked)
    assert found["call_success"].value == 0.5
    (failed,) = found["call_success"].detail["failed"]
    assert (failed["problem"], failed["reached"]) == (problem, False)
    assert found["recovered"].value == 1


async def test_calls_of_a_frameworks_own_tools_are_none() -> None:
    own = [model_call(sent=[SentCall(name="think", arguments="{}")])]
    assert (await values("a", [GOOD], own))["call_success"] == 1


async def test_what_a_failed_request_would_have_called_is_no_call() -> None:
    gone = [model_call(status=0, sent=[sent_call("a")])]
    assert (await values("a", [GOOD], gone))["call_success"] == 1


@pytest.mark.parametrize(
    ("called", "value"),
    [
        ([BAD, GOOD], 1),
        ([BAD, BAD, GOOD], 1),
        ([BAD, OTHER], 0),
        ([GOOD, api_call("a", error="no", started=7)], 0),
        ([BAD, GOOD, api_call("b", error="no", started=7)], 0.5),
    ],
)
async def test_recovered_is_what_was_mended_later(called: list[ApiCall], value: float) -> None:
    found = (await scores("a", called))["recovered"]
    assert (found.value, found.quality) == (value, False)


async def test_where_no_call_failed_nothing_was_to_be_recovered() -> None:
    assert "recovered" not in await scores("a", [GOOD])


@pytest.mark.parametrize(
    ("called", "value"),
    [
        ([], 0),
        ([GOOD, OTHER], 0),
        ([GOOD, GOOD, GOOD], 2),
        ([api_call("a", {"x": 1, "y": 2}), api_call("a", {"y": 2.0, "x": 1})], 1),
        ([BAD, BAD], 0),
        ([BAD, api_call("a", {"x": 1}), api_call("a", {"x": 1})], 1),
    ],
)
async def test_redundant_calls_repeat_an_accepted_one(called: list[ApiCall], value: int) -> None:
    found = (await scores("a", called))["redundant_calls"]
    assert (found.value, found.bounded) == (value, False)


@pytest.mark.parametrize(
    ("responses", "value"),
    [(["first", "second", "third"], 0), (["first", "second", "second"], 1), (["first", "second", "first"], 1)],
)
async def test_a_repetition_that_is_given_something_else_is_not_redundant(responses: list[str], value: int) -> None:
    called = [api_call("a", response=text, started=number) for number, text in enumerate(responses)]
    assert (await values("a", called))["redundant_calls"] == value


async def test_a_repetition_that_fails_is_redundant() -> None:
    called = [api_call("a", response="first"), api_call("a", error="no", started=1)]
    assert (await values("a", called))["redundant_calls"] == 1


async def test_unasked_calls_are_counted() -> None:
    found = await scores("a", [GOOD, OTHER], unasked=[OTHER])
    assert found["unasked_calls"].value == 1
    assert found["unasked_calls"].detail == {"calls": ["t_b"], "reason": "t_b"}
    assert found["call_success"].detail["calls"] == 1


async def test_an_agent_whose_model_is_not_seen_has_its_calls() -> None:
    nothing: list[ModelCall] = []
    assert (await values("a", [GOOD, OTHER], nothing))["call_success"] == 1


async def test_reasons_name_the_first_calls() -> None:
    bad = [api_call("a", {"x": number}, error="no") for number in range(7)]
    found = await scores("a", [*bad, GOOD])
    assert found["call_success"].detail["reason"] == f"{'; '.join(['t_a: no'] * 5)}; and 2 more"
    assert found["recovered"].detail["reason"] == "7 of 7 failed calls recovered"
    assert "reason" not in (await scores("a", [GOOD]))["call_success"].detail


def nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = {"a": value}
    return value


@pytest.mark.parametrize("depth", [300, 900])
async def test_arguments_nested_however_deeply_can_be_scored(depth: int) -> None:
    """A model can send them; they must not end a run."""
    deep = nested(depth)
    called = [api_call("a", {"x": deep}, started=number, response=deep) for number in range(2)]
    found = await values([gold_call("a", x=1)], called, final_answer="?")
    assert (found["argument_accuracy"], found["redundant_calls"]) == (0, 1)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 600 + "1" + "}" * 600])
async def test_texts_nested_however_deeply_can_be_scored(text: str) -> None:
    asked = [model_call(sent=[sent_call("a", text)])]
    wire = context([], [], asked).wire
    assert unasked_calls(wire, context().tools) == ()
    assert (await values([gold_call("a", x=1)], [], asked))["call_success"] == 0
