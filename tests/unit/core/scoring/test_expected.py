"""The expectations of a task."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from support.cases import for_each
from support.scoring import NOON, api_call, context, gold_call, model_call, ref

from trialbed.records import Expected, Usage, WireLog
from trialbed.scoring import CheckResult, ScoreContext, expectations, judged_score


def trial(expected: Expected | None = None, facts: tuple[str, ...] = (), **more: Any) -> ScoreContext:
    """A trial whose task expects something."""
    found = context(**more)
    query = found.query.model_copy(update={"expected": expected or Expected(), "reference_facts": facts})
    return replace(found, query=query)


A7, B = gold_call("a", id=7), gold_call("b")
CALLED_A7, CALLED_B = api_call("a", {"id": 7}), api_call("b")


@for_each(
    ("given", "unmet"),
    [
        ({"facts": ("42",)}, []),
        ({"facts": ("43",)}, ["the answer says '43': it does not"]),
        ({"gold": [A7], "called": [CALLED_A7]}, []),
        ({"gold": [A7], "called": []}, ["the expected calls: a: not called"]),
        ({"gold": [A7], "called": [api_call("a", {"id": 8})]}, ["the expected calls: a: id: 8 instead of 7"]),
        ({"gold": [A7], "called": [api_call("a", {"id": 7}, "gone")]}, ["the expected calls: a failed: gone"]),
        ({"gold": ["a"], "called": [CALLED_A7, CALLED_B]}, []),
        (
            {"gold": ["a"], "called": [CALLED_A7, CALLED_B], "expected": Expected(only=True)},
            ["the expected calls: t_b is not expected"],
        ),
        ({"gold": [A7], "called": [api_call("a", {"id": 7}, "busy"), CALLED_A7], "expected": Expected(only=True)}, []),
        ({"gold": ["a", "b"], "called": [CALLED_B, CALLED_A7]}, []),
        ({"gold": ["a", "b"], "called": [CALLED_A7, CALLED_B], "expected": Expected(in_order=True)}, []),
        (
            {"gold": ["a", "b"], "called": [CALLED_B, CALLED_A7], "expected": Expected(in_order=True)},
            ["the expected calls, in their order: b is called too early"],
        ),
        ({"gold": ["a"], "called": [CALLED_B], "expected": Expected(ways=((B,),))}, []),
        ({"gold": ["a"], "called": [], "expected": Expected(ways=((B, A7),))}, ["the expected calls: a: not called"]),
        ({"called": [CALLED_B], "expected": Expected(never=(ref("b"),))}, ["b is not called: it is"]),
        ({"called": [], "expected": Expected(never=(ref("b"),))}, []),
        ({"states": ([8], [8])}, []),
        ({"states": ([8], [9])}, ["the final state: it is [9]"]),
        ({"called": [CALLED_B] * 3, "expected": Expected(most_calls=2)}, ["at most 2 calls of tools: there are 3"]),
        (
            {"asked": [model_call()] * 2, "expected": Expected(most_requests=1)},
            ["at most 1 requests to the model: there are 2"],
        ),
        (
            {"asked": [model_call(Usage(prompt_tokens=9, completion_tokens=2))], "expected": Expected(most_tokens=10)},
            ["at most 10 tokens: there are 11"],
        ),
        ({"expected": Expected(most_seconds=3)}, ["at most 3 seconds: there are 4"]),
        ({"expected": Expected(most_seconds=5)}, []),
    ],
)
def test_each_thing_that_is_expected_is_met_or_named(given: dict[str, Any], unmet: list[str]) -> None:
    found = expectations(trial(**given))
    assert [f"{one.text}: {one.reason}" for one in found if not one.met] == unmet
    assert all(bool(one.met) is (not one.reason) for one in found)


async def test_the_task_decides_whether_it_is_solved() -> None:
    solved = await judged_score(trial(facts=("42",)))
    assert (solved.value, solved.label) == (1.0, "Solved")
    unsolved = await judged_score(trial(facts=("43", "44")))
    assert (unsolved.value, unsolved.label) == (0.0, "Unsolved")
    assert str(unsolved.detail["reason"]).startswith("2 of 3 expectations are not met: the answer says '43'")


async def test_a_judge_is_asked_only_where_all_expectations_are_met() -> None:
    met, unmet = trial(facts=("42",)), trial(facts=("43",))
    assert (await judged_score(replace(met, judge_name="gpt"))).detail["reason"] == "good"
    assert (await judged_score(replace(unmet, judge_name="gpt"))).value == 0


async def test_what_cannot_be_told_is_no_verdict() -> None:
    task = trial(Expected(checks=("polite",)))
    unknown = await judged_score(task)
    assert unknown.value is None
    assert unknown.failure is not None
    assert "polite: only the run itself can ask it" in unknown.failure.message
    said = await judged_score(replace(task, checks=(CheckResult("polite", False, "rude"),)))
    assert (said.value, str(said.detail["reason"])) == (0.0, "1 of 2 expectations are not met: polite: rude")
    silent = replace(
        trial(Expected(most_tokens=1)), wire=WireLog(trial="t", opened_at=NOON, model_calls=(model_call(),))
    )
    assert (await judged_score(silent)).value is None


def test_a_query_that_expects_nothing_leaves_it_to_the_judge() -> None:
    assert expectations(context()) == ()
