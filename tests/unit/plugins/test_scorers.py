from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbed.contracts import Judge, Verdict
from trialbed.errors import JudgeError
from trialbed.plugins import plugin_manager
from trialbed.records import (
    Answer,
    ApiCall,
    ApiRef,
    ClaimedCall,
    GoldCall,
    ModelCall,
    Query,
    Score,
    SentCall,
    Timing,
    ToolSpec,
    Usage,
    WireLog,
)
from trialbed.scoring import ScoreContext
from trialbed_plugins.scorers import declare_scores, score_trial

NOON = datetime(2026, 1, 2, tzinfo=UTC)


class Says(Judge):
    def __init__(self, verdict: Verdict | Exception) -> None:
        super().__init__()
        self.verdict = verdict

    async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
        if isinstance(self.verdict, Exception):
            raise self.verdict
        return self.verdict


SOLVED = Says(Verdict(status="Solved", value=1.0, reason="good", votes=("Solved",)))


def ref(name: str) -> ApiRef:
    return ApiRef(category="C", tool_name="t", api_name=name)


def api_call(name: str, arguments: Any = None, error: str = "") -> ApiCall:
    return ApiCall(started=0, duration=0, api=ref(name), offered=True, arguments=arguments or {}, error=error)


def model_call(
    usage: Usage | None = None, status: int = 200, request: str = "", sent: Sequence[SentCall] = ()
) -> ModelCall:
    return ModelCall(
        started=0,
        duration=0,
        status=status,
        request=request,
        response="",
        request_bytes=0,
        response_bytes=0,
        usage=usage,
        tool_calls=tuple(sent),
    )


def claim(name: str | None, arguments: Any = None) -> ClaimedCall:
    return ClaimedCall(name=name or "nowhere", api=ref(name) if name else None, arguments=arguments)


def context(
    gold: Sequence[str] = (),
    called: Sequence[ApiCall] = (),
    asked: Sequence[ModelCall] = (),
    judge: Judge = SOLVED,
    unasked: Sequence[ApiCall] = (),
    **answer: Any,
) -> ScoreContext:
    names = ("a", "b", "c")
    query = Query(query_id=1, text="?", apis=(), gold_calls=tuple(GoldCall(api=ref(name)) for name in gold))
    return ScoreContext(
        query=query,
        tools=tuple(ToolSpec(name=f"t_{name}", description="", parameters={}, api=ref(name)) for name in names),
        answer=Answer(**{"final_answer": "42", "finish": "give_answer"} | answer),
        wire=WireLog(trial="t", opened_at=NOON, model_calls=tuple(asked), api_calls=tuple(called)),
        timing=Timing(wall=4, model=2, tool=1.5, framework=0.5),
        judge=judge,
        judge_name="rule",
        unasked=tuple(unasked),
    )


async def scores(*arguments: Any, **more: Any) -> dict[str, Score]:
    return {score.name: score for score in await score_trial(context(*arguments, **more))}


async def values(*arguments: Any, **more: Any) -> dict[str, float | None]:
    return {name: score.value for name, score in (await scores(*arguments, **more)).items()}


async def test_the_plugin_is_found_by_its_entry_point_and_gives_every_score() -> None:
    (given,) = plugin_manager().hook.score_trial(context=context())
    assert [score.name for score in await given] == [
        "sopr_score",
        "api_call_score",
        "api_precision",
        "api_f1",
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


async def test_every_score_is_declared() -> None:
    assert set(await scores()) == set(declare_scores())


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


async def test_api_scores_rest_on_the_wire_not_on_claims_and_count_failed_calls() -> None:
    found = await scores("ab", [api_call("a", error="bad")], calls=(claim("a"), claim("b")))
    assert found["api_call_score"].value == 0.5
    assert found["api_call_score"].detail == {"right": [["t", "a"]], "missing": [["t", "b"]], "extra": []}


@given(st.text("abc", max_size=5), st.text("abc", max_size=5))
async def test_f1_is_the_harmonic_mean(gold: str, called: str) -> None:
    found = await values(gold, [api_call(name) for name in called])
    recall, precision, f1 = found["api_call_score"], found["api_precision"], found["api_f1"]
    assert recall is not None
    assert precision is not None
    expected = 2 * recall * precision / (recall + precision) if recall + precision else 0
    assert f1 == pytest.approx(expected)


@pytest.mark.parametrize(("finish", "value"), [("give_answer", 1), ("give_up_and_restart", 1), (None, 0)])
async def test_finish(finish: str | None, value: float) -> None:
    found = (await scores(finish=finish))["has_finish"]
    assert (found.value, found.label) == (value, finish)


async def test_the_judges_verdict_is_the_sopr_score() -> None:
    found = (await scores())["sopr_score"]
    assert (found.value, found.label) == (1.0, "Solved")
    assert found.detail == {"method": "rule", "reason": "good", "votes": ["Solved"]}


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


async def test_calls_that_the_model_did_not_ask_for_score_nothing() -> None:
    calls = [api_call("a"), api_call("b")]
    found = await scores("ab", calls, unasked=calls[1:])
    assert found["api_call_score"].value == 0.5
    assert found["claimed_vs_observed"].detail["unasked"] == [["t", "b"]]


async def test_an_answer_that_rests_on_calls_nobody_asked_for_is_unsolved() -> None:
    calls = [api_call("a"), api_call("b")]
    found = (await scores("ab", calls, unasked=calls[1:]))["sopr_score"]
    assert (found.value, found.label) == (0.0, "Unsolved")
    assert "t: b" in str(found.detail["reason"])


async def test_a_repeated_call_does_not_take_the_verdict() -> None:
    calls = [api_call("a"), api_call("a")]
    assert (await scores("a", calls, unasked=calls[1:]))["sopr_score"].value == 1.0


async def test_the_judge_does_not_see_calls_that_nobody_asked_for() -> None:
    class Looking(Says):
        seen = 0

        async def judge(self, query: Query, answer: Answer, wire: WireLog) -> Verdict:
            self.seen = len(wire.api_calls)
            return await super().judge(query, answer, wire)

    looking, calls = Looking(SOLVED.verdict), [api_call("a"), api_call("a")]
    await scores("a", calls, judge=looking, unasked=calls[1:])
    assert looking.seen == 1
