"""The expectations of a task, and the functions that look at a trial for it."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from support.cases import for_each
from support.scoring import NOON, api_call, context, gold_call, model_call, ref

from trialbed.contracts import Judge, Verdict
from trialbed.errors import JudgeError
from trialbed.records import Expected, TaskTest, Usage, WireLog
from trialbed.scoring import (
    CheckResult,
    ScoreContext,
    expectations,
    judged_score,
    open_criteria,
    run_checks,
    run_criteria,
)


def trial(expected: Expected | None = None, facts: tuple[str, ...] = (), **more: Any) -> ScoreContext:
    """A trial whose task expects something."""
    found = context(**more)
    stated = {
        "expected": expected or Expected(),
        "reference_facts": facts,
        "states_calls": "gold" in more or "called" not in more,
    }
    return replace(found, query=found.query.model_copy(update=stated))


A7, B = gold_call("a", id=7), gold_call("b")
CALLED_A7, CALLED_B = api_call("a", {"id": 7}), api_call("b")


@for_each(
    ("given", "unmet"),
    [
        ({"facts": ("42",)}, []),
        ({"facts": ("43",)}, ["the answer does not say '43'"]),
        ({"gold": [A7], "called": [CALLED_A7]}, []),
        ({"gold": [A7], "called": []}, ["a was not called"]),
        (
            {"gold": [A7], "called": [api_call("a", {"id": 8})]},
            ["a was called with wrong arguments: id: 8 instead of 7"],
        ),
        ({"gold": [A7], "called": [api_call("a", {"id": 7}, "gone")]}, ["a failed: gone"]),
        (
            {"gold": [A7], "called": [api_call("a", "[7]")]},
            ["a was asked for with arguments that are not a JSON object"],
        ),
        ({"gold": [], "called": []}, []),
        ({"gold": [], "called": [CALLED_B]}, ["t_b is not expected"]),
        ({"called": [CALLED_B] * 2, "expected": Expected(never=(ref("b"),))}, ["b was called 2 times"]),
        ({"gold": ["a"], "called": [CALLED_A7, CALLED_B]}, []),
        ({"gold": ["a"], "called": [CALLED_A7, CALLED_B], "expected": Expected(only=True)}, ["t_b is not expected"]),
        ({"gold": [A7], "called": [api_call("a", {"id": 7}, "busy"), CALLED_A7], "expected": Expected(only=True)}, []),
        ({"gold": ["a", "b"], "called": [CALLED_B, CALLED_A7]}, []),
        ({"gold": ["a", "b"], "called": [CALLED_A7, CALLED_B], "expected": Expected(in_order=True)}, []),
        (
            {"gold": ["a", "b"], "called": [CALLED_B, CALLED_A7], "expected": Expected(in_order=True)},
            ["b is called too early"],
        ),
        ({"gold": ["a"], "called": [CALLED_B], "expected": Expected(ways=((B,),))}, []),
        ({"gold": ["a"], "called": [], "expected": Expected(ways=((B, A7),))}, ["a was not called"]),
        ({"called": [CALLED_B], "expected": Expected(never=(ref("b"),))}, ["b was called"]),
        ({"called": [], "expected": Expected(never=(ref("b"),))}, []),
        ({"states": ([8], [8])}, []),
        ({"states": ([8], [9])}, ["the final state is [9], which is not expected"]),
        ({"states": ([8], None)}, ["a final state is expected, and none of the tools keeps one"]),
        ({"called": [CALLED_B] * 3, "expected": Expected(most_calls=2)}, ["3 calls of tools, of at most 2"]),
        (
            {"asked": [model_call()] * 2, "expected": Expected(most_requests=1)},
            ["2 requests to the model, of at most 1"],
        ),
        (
            {"asked": [model_call(Usage(prompt_tokens=9, completion_tokens=2))], "expected": Expected(most_tokens=10)},
            ["11 tokens, of at most 10"],
        ),
        ({"called": [CALLED_B] * 2, "expected": Expected(most_calls=2)}, []),
        ({"expected": Expected(most_seconds=3)}, ["4 seconds, of at most 3"]),
        ({"expected": Expected(most_seconds=5)}, []),
    ],
)
def test_each_thing_that_is_expected_is_met_or_named(given: dict[str, Any], unmet: list[str]) -> None:
    found = expectations(trial(**given))
    assert [one.finding for one in found if not one.met] == unmet
    assert not any(one.reason or one.denial for one in found if one.met)


async def test_the_task_decides_whether_it_is_solved() -> None:
    solved = await judged_score(trial(facts=("42",)))
    assert (solved.value, solved.label) == (1.0, "Solved")
    unsolved = await judged_score(trial(facts=("43", "44")))
    assert (unsolved.value, unsolved.label) == (0.0, "Unsolved")
    assert str(unsolved.detail["reason"]).startswith(
        "2 of 3 expectations are not met: the answer does not say '43'; the answer does not say '44'"
    )


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


async def test_each_test_of_a_task_is_reported_by_its_name() -> None:
    tests = (
        TaskTest(name="says it", facts=("42",), expected=Expected(criteria=("It is polite.",))),
        TaskTest(name="calls a", calls=(gold_call("a", id=7),), states_calls=True, expected=Expected(most_calls=1)),
        TaskTest(name="asks", expected=Expected(checks=("short",))),
    )
    found = trial(Expected(tests=tests), called=[CALLED_B, CALLED_B])
    assert found.query.expected is not None
    assert (found.query.expected.all_checks, found.query.expected.all_criteria) == (("short",), ("It is polite.",))
    checks = (CheckResult("criterion: It is polite.", False, "it is rude"), CheckResult("short", None, "it raised"))
    checked = replace(found, checks=checks, judge_name="rule:grader")
    assert [(one.text, one.met, one.reason) for one in expectations(checked)] == [
        ("says it", False, "criterion: It is polite.: it is rude"),
        ("calls a", False, "a was not called; 2 calls of tools, of at most 1"),
        ("asks", None, "short: it raised"),
    ]
    score = await judged_score(checked)
    assert (score.value, score.detail["method"]) == (0, "expectations")
    assert [one["text"] for one in score.detail["expectations"]] == ["says it", "calls a", "asks"]
    assert score.detail["checks"][0] == {"name": "criterion: It is polite.", "met": False, "reason": "it is rude"}


class Grader(Judge):
    """Says of criteria what it was told."""

    def __init__(self, *votes: Any) -> None:
        super().__init__()
        self.votes_given = votes

    async def judge(self, query: Any, answer: Any, wire: Any) -> Verdict:
        raise AssertionError("only the criteria are asked for")

    async def meets(self, criterion: str, query: Any, answer: Any, wire: Any) -> Verdict:
        if criterion == "broken":
            raise JudgeError("no reply")
        status = max(self.votes_given, key=self.votes_given.count)
        return Verdict(status=status, value=1.0, reason=f"about {criterion!r}", votes=self.votes_given)


@for_each(
    ("votes", "met", "reason"),
    [
        (("Solved",), True, "about 'polite'"),
        (("Solved", "Unsolved", "Solved"), True, "about 'polite' (2 of 3 votes)"),
        (("Unsolved",), False, "about 'polite'"),
        (("Unsure",), None, "judge grader is unsure: about 'polite'"),
    ],
)
def test_a_criterion_is_what_most_votes_say(votes: Any, met: bool | None, reason: str) -> None:
    found = replace(trial(Expected(criteria=("polite", "broken"))), judge_name="grader")
    results = asyncio.run(run_criteria(Grader(*votes), found, ("polite", "broken")))
    assert results[0] == CheckResult("criterion: polite", met, reason)
    assert results[1] == CheckResult("criterion: broken", None, "judge grader: no reply")
    known = CheckResult("criterion: polite", False, "known")
    (first, second) = asyncio.run(run_criteria(Grader(*votes), replace(found, checks=(known,)), ("polite",)))
    reason = "the judge was not asked: the task is unsolved without it"
    assert (first, second) == (known, CheckResult("criterion: broken", None, reason))


POLITE = Expected(criteria=("polite",), tests=(TaskTest(name="kind", expected=Expected(criteria=("kind",))),))
OTHER = api_call("b", response={"value": "4242"})
DEAF = Expected(tests=(TaskTest(name="kind", facts=("43",), expected=Expected(criteria=("kind",))),))


@for_each(
    ("given", "asked"),
    [
        ({"expected": POLITE, "facts": ("42",)}, {"polite", "kind"}),
        ({"expected": POLITE, "facts": ("43",)}, {"kind"}),
        ({"expected": DEAF, "facts": ("42",)}, set()),
        # It rests on a call that the model never asked for.
        ({"expected": POLITE, "called": [OTHER], "unasked": [OTHER], "final_answer": "It is 4242."}, set()),
    ],
)
def test_a_judge_is_asked_for_criteria_only_where_they_decide_something(given: dict[str, Any], asked: set[str]) -> None:
    assert open_criteria(trial(**given)) == asked


async def later(trial: Any) -> str:
    return "" if trial.text == "42" else "wrong"


def asserts(trial: Any) -> None:
    assert trial.text == "43", "it is not 43"


def breaks(_trial: Any) -> None:
    raise OSError("no database")


@pytest.mark.parametrize(
    ("check", "met", "says"),
    [
        (lambda trial: trial.text == "42", True, ""),
        (lambda _: False, False, "it is not"),
        (lambda _: None, True, ""),
        (lambda _: "too long", False, "too long"),
        (later, True, ""),
        (asserts, False, "it is not 43"),
        (breaks, None, "the check raised OSError: no database"),
        (lambda _: [1], None, "the check returned [1]; return a bool"),
        (lambda _: 5, None, "the check returned 5; return a bool"),
        (lambda _: 0, None, "the check returned 0; return a bool"),
    ],
)
async def test_a_check_says_whether_a_trial_is_right(check: Any, met: bool | None, says: str) -> None:
    found = context()
    expected = Expected(checks=("it", "missing"))
    found = replace(found, query=found.query.model_copy(update={"expected": expected}))
    (result,) = await run_checks({"it": check, "other": breaks}, found)
    assert (result.name, result.met) == ("it", met)
    assert result.reason.startswith(says)
