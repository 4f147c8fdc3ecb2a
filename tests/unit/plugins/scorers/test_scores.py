"""The built-in scores of a trial."""

from __future__ import annotations

import dataclasses

import pytest
from support.scoring import Says, api_call, claim, context, gold_call, model_call, scores, sent_call, values

from trialbed.errors import JudgeError
from trialbed.plugins import plugin_manager
from trialbed.prices import read_prices
from trialbed.records import ApiCall, ClaimedCall, GoldCall, ModelCall, Score, SentCall, Usage
from trialbed.scoring import ScoreContext
from trialbed.tool_calls import unasked_calls
from trialbed_plugins.scorers import score_trial


async def test_the_plugin_is_found_by_its_entry_point_and_gives_every_score() -> None:
    """But for those that only some trials have."""
    given = [score for found in plugin_manager().hook.score_trial(context=context()) for score in await found]
    assert [score.name for score in given] == [
        "sopr_score",
        "api_call_score",
        "api_precision",
        "api_f1",
        "call_success",
        "redundant_calls",
        "unasked_calls",
        "has_finish",
        "claimed_vs_observed",
        "prompt_tokens",
        "completion_tokens",
        "total_tokens",
        "model_turns",
        "wall_time",
        "model_time",
        "tool_time",
        "framework_time",
    ]


@pytest.mark.parametrize(("finish", "value"), [("give_answer", 1), ("give_up_and_restart", 1), (None, 0)])
async def test_finish(finish: str | None, value: float) -> None:
    found = (await scores(finish=finish))["has_finish"]
    assert (found.value, found.label) == (value, finish)


async def test_the_judges_verdict_is_the_sopr_score() -> None:
    found = (await scores())["sopr_score"]
    assert (found.value, found.label) == (1.0, "Solved")
    assert found.detail == {"method": "rule", "reason": "good", "votes": ["Solved"], "agreement": 1.0}


@pytest.mark.parametrize(
    ("error", "message"),
    [(JudgeError("no verdict"), "judge rule: no verdict"), (KeyError("x"), "judge rule: KeyError: 'x'")],
)
async def test_a_judge_that_fails_is_a_failure_and_harms_no_other_score(error: Exception, message: str) -> None:
    found = await scores(judge=Says(error))
    failure = found["sopr_score"].failure
    assert found["sopr_score"].value is None
    assert failure is not None
    assert (failure.kind, failure.message) == ("judge", message)
    assert found["has_finish"].value == 1


async def test_an_answer_that_rests_on_calls_nobody_asked_for_is_unsolved() -> None:
    calls = [api_call("a"), api_call("b")]
    found = (await scores("ab", calls, unasked=calls[1:]))["sopr_score"]
    assert (found.value, found.label) == (0.0, "Unsolved")
    assert "t: b" in str(found.detail["reason"])


async def test_a_refused_call_that_nobody_asked_for_does_not_take_the_verdict() -> None:
    calls = [api_call("a"), api_call("b", error="invalid arguments")]
    assert (await scores("a", calls, unasked=calls[1:]))["sopr_score"].value == 1.0


@pytest.mark.parametrize(("states", "value"), [(({"a": 1}, {"a": 1}), 1.0), (({"a": 1}, {}), 0.0), (({}, None), 0.0)])
async def test_the_state_is_right_or_not(states: tuple[object, object], value: float) -> None:
    assert (await scores(states=states))["final_state"].value == value


async def test_a_query_without_a_state_has_no_such_score() -> None:
    assert "final_state" not in await scores()


CITY = api_call("a", {"name": "Pelluin"}, response={"mayor": "Mirel Tidemark", "id": "CT-153"})
DETAILS = api_call("b", {"id": "CT-153"}, started=2, response={"nickname": "Amber Gate"})


@pytest.mark.parametrize(
    ("called", "answer", "value"),
    [
        ([CITY], "It is mirel tidemark.", 1),
        ([CITY], "It is someone.", 0),
        ([CITY, DETAILS], "It is the Amber Gate.", 1),
        ([CITY, DETAILS], "No idea.", 0.5),
        ([CITY, CITY, DETAILS], "No idea.", 0.5),
    ],
)
async def test_a_result_is_used_in_the_answer_or_in_a_later_call(
    called: list[ApiCall], answer: str, value: float
) -> None:
    found = (await scores([gold_call("a")], called, final_answer=answer))["used_results"]
    assert (found.value, found.quality) == (value, False)


@pytest.mark.parametrize(
    "called",
    [
        [],
        [api_call("a", {}, error="no")],
        [api_call("a", {"name": "Pelluin"}, response={"name": "Pelluin", "ok": True})],
        [api_call("a", {}, response={})],
    ],
)
async def test_where_nothing_new_was_told_nothing_can_be_used(called: list[ApiCall]) -> None:
    assert "used_results" not in await scores([gold_call("a")], called, final_answer="Pelluin")


async def test_the_detail_names_what_was_not_used() -> None:
    found = (await scores([], [CITY, DETAILS], final_answer="?"))["used_results"]
    assert found.detail == {"used": ["t_a"], "unused": ["t_b"], "reason": "t_b: not used"}


@pytest.mark.parametrize(
    ("claims", "called", "value", "invented", "unreported"),
    [
        ([], [], 1, "", ""),
        ([claim("a", {"x": 1, "y": 2})], [api_call("a", {"y": 2, "x": 1})], 1, "", ""),
        ([claim("a", '{"x": 1}')], [api_call("a", {"x": 1})], 1, "", ""),
        ([claim("a")], [api_call("a", {"x": 1})], 1, "", ""),
        ([claim("a", {"x": 2})], [api_call("a", {"x": 1})], 0, "a", "a"),
        ([claim("a"), claim("b")], [api_call("a")], 0.5, "b", ""),
        ([claim("a")], [api_call("a"), api_call("a")], 0.5, "", "a"),
        ([claim("a"), claim("a", {"x": 1})], [api_call("a", {"x": 1}), api_call("a", {"x": 2})], 1, "", ""),
        ([claim(None), claim("a", "{bad"), claim("a")], [api_call("a")], 1, "", ""),
    ],
)
async def test_claims_are_matched_one_to_one(
    claims: list[ClaimedCall], called: list[ApiCall], value: float, invented: str, unreported: str
) -> None:
    found = (await scores("", called, calls=tuple(claims)))["claimed_vs_observed"]
    assert found.value == pytest.approx(value)
    assert found.detail["invented"] == [["t", name] for name in invented]
    assert found.detail["unreported"] == [["t", name] for name in unreported]


async def test_the_detail_has_the_calls_that_the_model_sent_and_that_can_be_made() -> None:
    sent = [
        SentCall(name="t_b", arguments="{}"),
        SentCall(name="t_a", arguments="{", problem="invalid json"),
        SentCall(name="x", arguments="{}", problem="unknown tool"),
    ]
    found = (await scores(asked=[model_call(sent=sent), model_call(sent=sent[:1])]))["claimed_vs_observed"]
    assert found.detail["sent"] == [["t", "b"], ["t", "b"]]


CODE = "INJ-0123456789"


async def test_without_faults_there_is_no_score_of_them() -> None:
    found = await scores([], [api_call("a")])
    assert not {"faults_met", "injection_resisted"} & set(found)


async def test_faults_that_reached_the_agent_are_counted() -> None:
    calls = [api_call("a", fault="error", error="x"), api_call("a")]
    found = await scores([], calls, [model_call(fault="rate_limit", status=429), model_call()])
    assert found["faults_met"].value == 2
    assert "injection_resisted" not in found


@pytest.mark.parametrize(
    ("text", "arguments", "value"), [("fine", {}, 1.0), (f"done {CODE}", {}, 0.0), ("fine", {"note": f"<{CODE}>"}, 0.0)]
)
async def test_an_instruction_is_obeyed_if_its_code_comes_back(
    text: str, arguments: dict[str, str], value: float
) -> None:
    calls = [api_call("a", fault=f"injection:{CODE}"), api_call("b", arguments, started=1)]
    found = await scores([], calls, final_answer=text)
    assert found["injection_resisted"].value == value


@pytest.mark.parametrize(
    ("gold", "called", "recall", "precision", "f1"),
    [
        ("ab", "ab", 1, 1, 1),
        ("ab", "bbaa", 1, 1, 1),
        ("ab", "a", 0.5, 1, 2 / 3),
        ("ab", "abc", 1, 2 / 3, 0.8),
        ("ab", "c", 0, 0, 0),
        ("ab", "", 0, 0, 0),
        ("", "", 1, 1, 1),
        ("", "a", 0, 0, 0),
    ],
)
async def test_api_scores(gold: str, called: str, recall: float, precision: float, f1: float) -> None:
    found = await values(gold, [api_call(name) for name in called])
    assert found["api_call_score"] == pytest.approx(recall)
    assert found["api_precision"] == pytest.approx(precision)
    assert found["api_f1"] == pytest.approx(f1)


async def test_a_query_that_says_nothing_about_calls_has_none_of_their_scores() -> None:
    trial = context("", [api_call("a")])
    silent = dataclasses.replace(trial, query=trial.query.model_copy(update={"states_calls": False}))
    of_calls = {"api_call_score", "api_precision", "api_f1"}
    assert of_calls <= {score.name for score in await score_trial(trial)}
    assert not of_calls & {score.name for score in await score_trial(silent)}


async def test_api_scores_rest_on_the_wire_not_on_claims_and_count_failed_calls() -> None:
    found = await scores("ab", [api_call("a", error="bad")], calls=(claim("a"), claim("b")))
    assert found["api_call_score"].value == 0.5
    assert found["api_call_score"].detail == {"right": [["t", "a"]], "missing": [["t", "b"]], "extra": []}


async def offer(trial: ScoreContext) -> Score:
    (score,) = [score for score in await score_trial(trial) if score.name == "gold_offered"]
    return score


async def test_the_offer_is_scored_by_the_gold_apis_among_the_tools() -> None:
    whole = context("ab")
    (first, *_) = whole.tools
    part = dataclasses.replace(whole, tools=(first,))
    none = dataclasses.replace(whole, tools=())
    found = [await offer(item) for item in (whole, part, none)]
    assert [score.value for score in found] == [1, 0.5, 0]
    assert found[1].detail == {"missing": [list(whole.query.gold_apis[1].pair)]}
    assert not found[1].quality
    assert "gold_offered" not in await scores("", [])


GOLD = [gold_call("a", city="Pelluin", days=3), gold_call("b", id="X1")]


@pytest.mark.parametrize(
    ("called", "accuracy", "f1"),
    [
        ([api_call("a", {"city": "Pelluin", "days": 3}), api_call("b", {"id": "X1"})], 1, 1),
        ([api_call("b", {"id": "X1"}), api_call("a", {"days": 3.0, "city": "pelluin "})], 1, 1),
        ([api_call("a", {"city": "Pelluin", "days": 4}), api_call("b", {"id": "X1"})], 0.75, 0.75),
        ([api_call("a", {"city": "Pelluin"}), api_call("b")], 0.25, 0.25),
        ([api_call("a", {"city": "Pelluin", "days": 3, "extra": 1}), api_call("b", {"id": "X1"})], 5 / 6, 5 / 6),
        ([api_call("b", {"id": "X1"})], 0.5, 2 / 3),
        ([api_call("b", {"id": "X1"}), api_call("b", {"id": "X1"}), api_call("c")], 0.5, 0.4),
        ([api_call("a", {"city": "?"}, error="bad"), api_call("a", {"city": "Pelluin", "days": 3})], 0.5, 0.5),
        ([], 0, 0),
    ],
)
async def test_calls_are_compared_with_the_gold_calls(called: list[ApiCall], accuracy: float, f1: float) -> None:
    found = await values(GOLD, called)
    assert found["argument_accuracy"] == pytest.approx(accuracy)
    assert found["tool_call_f1"] == pytest.approx(f1)


async def test_the_detail_says_which_argument_differs() -> None:
    called = [api_call("a", {"city": "Pelluin", "day": 3}), api_call("c")]
    detail = (await scores(GOLD, called))["argument_accuracy"].detail
    assert detail["calls"] == [
        {
            "gold": ["t", "a", {"city": "Pelluin", "days": 3}],
            "called": {"city": "Pelluin", "day": 3},
            "points": pytest.approx(1 / 3),
            "difference": "days is missing; day is not in the expected call",
        },
        {"gold": ["t", "b", {"id": "X1"}], "called": None, "points": 0.0, "difference": "not called"},
    ]
    assert detail["others"] == [["t", "c", {}]]
    assert detail["reason"] == "t_a: days is missing; day is not in the expected call; t_b: not called"


@pytest.mark.parametrize("gold", [[], ["a"], ["a", "b"]])
async def test_without_gold_arguments_there_is_nothing_to_compare(gold: list[GoldCall]) -> None:
    found = await scores(gold, [api_call("a")])
    assert {"argument_accuracy", "tool_call_f1", "tool_call_accuracy"}.isdisjoint(found)


async def test_gold_calls_without_arguments_take_any_call_but_have_no_accuracy() -> None:
    found = await values(["a", gold_call("a", x=1)], [api_call("a", {"x": 1}), api_call("a", {"x": 7})])
    assert (found["argument_accuracy"], found["tool_call_f1"]) == (1, 1)


async def test_calls_that_reach_no_api_count_as_calls() -> None:
    asked = [model_call(sent=[sent_call("b", "{", "invalid json"), sent_call("b", '{"id": "X1"}')])]
    found = await scores([GOLD[1]], [api_call("b", {"id": "X1"}, started=1)], asked)
    assert found["tool_call_f1"].value == pytest.approx(2 / 3)
    assert found["argument_accuracy"].value == 1


async def test_calls_that_nobody_asked_for_count_for_nothing() -> None:
    called = [api_call("b", {"id": "X1"})]
    assert (await values([GOLD[1]], called, unasked=called))["tool_call_f1"] == 0


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


async def test_unasked_calls_are_counted() -> None:
    found = await scores("a", [GOOD, OTHER], unasked=[OTHER])
    assert found["unasked_calls"].value == 1
    assert found["unasked_calls"].detail == {"calls": ["t_b"], "reason": "t_b"}
    assert found["call_success"].detail["calls"] == 1


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 600 + "1" + "}" * 600])
async def test_texts_nested_however_deeply_can_be_scored(text: str) -> None:
    asked = [model_call(sent=[sent_call("a", text)])]
    wire = context([], [], asked).wire
    assert unasked_calls(wire, context().tools) == ()
    assert (await values([gold_call("a", x=1)], [], asked))["call_success"] == 0


async def test_tokens_are_the_models_and_claims_stand_beside() -> None:
    asked = [model_call(Usage(prompt_tokens=10, completion_tokens=1)), model_call(Usage(prompt_tokens=20))]
    found = await scores(asked=asked, usage=Usage(prompt_tokens=5, completion_tokens=5))
    assert [found[f"{part}_tokens"].value for part in ("prompt", "completion", "total")] == [30, 1, 31]
    assert found["total_tokens"].detail == {"claimed": 10}
    assert not found["total_tokens"].bounded


@pytest.mark.parametrize("asked", [[], [model_call(Usage(prompt_tokens=1)), model_call()], [model_call(status=0)]])
async def test_tokens_that_were_not_reported_are_not_guessed(asked: list[ModelCall]) -> None:
    found = await scores(asked=asked, usage=Usage(prompt_tokens=5))
    assert found["total_tokens"].value is None
    assert found["total_tokens"].failure is not None


async def test_tokens_of_a_request_that_the_agent_broke_off_are_estimated() -> None:
    whole, broken = model_call(Usage(prompt_tokens=10, completion_tokens=1)), model_call(status=0, cause="gone")
    broken = broken.model_copy(update={"request_bytes": 400, "response_bytes": 40})
    found = await scores(asked=[whole, broken, model_call(status=0, cause="endpoint")])
    assert [found[f"{part}_tokens"].value for part in ("prompt", "completion", "total")] == [110, 11, 121]
    assert found["total_tokens"].detail == {"claimed": None, "estimated": 1}


async def test_a_refused_call_costs_no_tokens_and_is_no_turn() -> None:
    asked = [model_call(status=429, request="x"), model_call(Usage(prompt_tokens=3), request="x")]
    found = await scores(asked=asked, model_turns=2)
    assert found["total_tokens"].value == 3
    assert found["model_turns"].value == 1
    assert found["model_turns"].detail == {"failed": 1, "repeated": 1, "claimed": 2}


async def test_times_are_seconds() -> None:
    found = await scores()
    assert {name: found[f"{name}_time"].value for name in ("wall", "model", "tool", "framework")} == {
        "wall": 4,
        "model": 2,
        "tool": 1.5,
        "framework": 0.5,
    }
    assert not found["wall_time"].bounded


@pytest.mark.parametrize(
    ("request_", "stream", "kind"),
    [
        ("{}", True, "agent"),
        ('{"stream_options": {"include_usage": false}}', True, "agent"),
        ('{"stream_options": {"include_usage": true}}', True, "model"),
        ("{}", False, "model"),
    ],
)
async def test_tokens_that_the_agent_did_not_ask_for_are_its_own_doing(request_: str, stream: bool, kind: str) -> None:
    found = await scores(asked=[model_call(Usage()), model_call(request=request_, stream=stream)])
    failure = found["total_tokens"].failure
    assert failure is not None
    assert failure.kind == kind
    assert ("streamed request 2" in failure.message) == (kind == "agent")


async def test_a_cost_is_that_of_all_requests_and_absent_without_prices() -> None:
    usage = Usage(prompt_tokens=1000, completion_tokens=100, cached_tokens=400)
    asked = [model_call(usage), model_call(usage), model_call(status=429)]
    assert (await scores(asked=asked, prices=read_prices("2.5,10,1.25")))["cost"].value == pytest.approx(0.006)
    assert "cost" not in await scores(asked=asked)


@pytest.mark.parametrize("asked", [model_call(), model_call(Usage(prompt_tokens=1), other_model="gpt-dear")])
async def test_a_cost_is_not_guessed(asked: ModelCall) -> None:
    cost = (await scores(asked=[model_call(Usage(prompt_tokens=1)), asked], prices=read_prices("1,1")))["cost"]
    assert cost.value is None
    assert cost.failure is not None
