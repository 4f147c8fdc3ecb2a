"""A trial as a test sees it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from support.cases import for_each
from support.scoring import NOON, api_call, model_call, tool
from support.trials import run_config, run_of

from trialbed import about, one_of
from trialbed.errors import UsageError
from trialbed.records import Answer, Failure, Outcome, Query, Score, SentCall, Timing, TrialKey, TrialResult, WireLog
from trialbed_testing import ObservedTrial
from trialbed_testing._single import SingleTrial

CALLS = (api_call("a", {"id": 7}), api_call("b", error="gone"), api_call("a", {"id": 8, "all": True}))


def trial(
    calls: Any = CALLS,
    score: Score | None = None,
    failure: Failure | None = None,
    text: str = "It is 12.50.",
    asked: Sequence[str] = (),
    requests: Sequence[str] = (),
) -> ObservedTrial:
    """A trial with these calls, whose model asked for tools of these names, which nobody offered it."""
    sent = tuple(SentCall(name=name, arguments="{}", problem="unknown tool") for name in asked)
    answer = None if failure else Answer(final_answer=text, finish="give_answer")
    turns = (*([model_call(sent=sent)] if sent else []), *(model_call(request=request) for request in requests))
    result = TrialResult(
        trial="t",
        key=TrialKey(framework="mine", query_id=1, repeat=0),
        seed=1,
        outcome=Outcome(started_at=datetime(2026, 1, 2, tzinfo=UTC), wall_time=1, answer=answer, failure=failure),
        wire=WireLog(trial="t", opened_at=NOON, api_calls=tuple(calls), model_calls=turns),
        timing=Timing(wall=1, model=0, tool=0, framework=1),
        selected_tools=(),
        scores=() if score is None else (score,),
    )
    query = Query(query_id=1, text="?", apis=())
    tools = (tool("a"), tool("b"), tool("c"))
    return ObservedTrial(SingleTrial(run_of(run_config(frameworks=("mine",))), query, tools, result))


def above_8(number: int) -> bool:
    return number > 8


@for_each(
    ("condition", "met", "says"),
    [
        (
            lambda one: one.called("a"),
            True,
            "<a() was called 2 times; calls: a(id=7), b() [refused: gone], a(id=8, all=true)>",
        ),
        (lambda one: one.called("t_a", id=7), True, "<t_a(id=7) was called; calls: "),
        (lambda one: one.called("a", id=8), True, "was called"),
        (lambda one: one.called("a", id=about(6.5, 0.5)), True, "was called"),
        (lambda one: one.called("a", id=one_of(1, 8), all=any), True, "was called"),
        (lambda one: one.called("a", id=lambda number: number > 8), False, "was not called"),
        (lambda one: one.called("a", id=above_8, all=any), False, '<a(id="above_8", all="any") was not called'),
        (lambda one: one.called("a", id=9), False, "<a(id=9) was not called; calls: a(id=7), "),
        (lambda one: one.called("a", id=7).before("b"), True, "was called before b()"),
        (lambda one: one.called("b").before("a"), False, "<b() was not called before a(); calls: "),
        (lambda one: one.called("b").after("a", id=7), True, "was called after a(id=7)"),
        (lambda one: one.called("a").after("b"), False, "was not called after b()"),
        (lambda one: one.called("a", id=7).before("c"), False, "<c() was not called"),
        (lambda one: one.called("c").after("a"), False, "<c() was not called"),
        (lambda one: one.called("a").times(2), True, "was called 2 times"),
        (lambda one: one.called("c").times(0), True, ""),
        (lambda one: one.called("a").times(1), False, "<a() was called 2 times, not once; "),
        (lambda one: one.called("b").after("a").times(1), True, "was called once"),
        (lambda one: one.called("b").after("a", id=8).times(1), False, "<b() was not called after a(id=8); "),
        (lambda one: one.called("b").times(2).after("a"), False, "was called once, not 2 times"),
        (lambda one: one.called("c").times(0).before("a"), False, "<c() was not called; "),
        (lambda one: one.said("12.50"), True, "the answer says it"),
        (lambda one: one.said("12.50", "13"), False, "<the answer lacks '13': 'It is 12.50.'>"),
    ],
)
def test_a_condition_holds_or_says_why_not(condition: Any, met: bool, says: str) -> None:
    found = condition(trial())
    assert bool(found) is met
    assert says in repr(found)


@for_each(
    ("asked", "says"),
    [
        (lambda one: one.called("refund"), "the trial has no tool 'refund'. Its tools are a, b, c"),
        (lambda one: one.called("a").before("t_aa"), "the trial has no tool 't_aa'; did you mean 't_a'?"),
        (lambda one: one.called(above_8), "called() takes texts, not <function above_8"),
        (lambda one: one.called("a").after(above_8), "called() takes texts, not <function above_8"),
        (lambda one: one.said("12.50", 12.5), "said() takes texts, not 12.5: write said('12.5')"),
        (lambda one: one.score("argument_acuracy"), "there is no score 'argument_acuracy'; did you mean 'argument_acc"),
    ],
)
def test_a_misspelt_name_is_refused(asked: Any, says: str) -> None:
    """That the tool was not called would hold for ever."""
    with pytest.raises(UsageError) as refusal:
        asked(trial())
    assert str(refusal.value).startswith(says)


def test_the_tools_that_requests_offered_are_listed_with_those_of_the_trial() -> None:
    """They are the agent's own; those of the trial stand there once, by the names that its author gave them."""
    offered = [{"type": "function", "function": {"name": name, "parameters": {}}} for name in ("t_a", "refund")]
    one = trial(requests=[json.dumps({"model": "m", "messages": [], "tools": offered})])
    with pytest.raises(UsageError, match=r"no tool 'nothere'\. Its tools are a, b, c, refund$"):
        one.called("nothere")
    with pytest.raises(UsageError, match="did you mean 'refund'"):
        one.called("refnd")
    assert not one.called("refund")


def test_a_tool_that_a_model_or_an_agent_made_up_has_a_name() -> None:
    one = trial([api_call("made_up")], asked=["other"])
    assert one.called("made_up")
    assert not one.called("other")


def test_a_score_has_a_value_under_both_of_its_names_and_none_where_it_was_not_given() -> None:
    one = trial(score=Score(name="sopr_score", value=1.0, label="Solved"))
    assert (one.score("sopr_score"), one.score("solved"), one.score("argument_accuracy")) == (1.0, 1.0, None)


def test_what_an_agent_called_is_shown_in_part_where_it_is_much() -> None:
    many = trial([api_call("a", {"id": number, "text": "x" * 900}) for number in range(100)])
    assert len(repr(many.called("b"))) < 5_000
    assert "and 88 more" in repr(many.called("b"))


def test_a_trial_is_solved_unsolved_or_neither() -> None:
    solved = trial(score=Score(name="sopr_score", value=1.0, label="Solved", detail={"reason": "all is met"}))
    assert solved.solved
    assert repr(solved.solved) == "<solved: all is met>"
    unsolved = trial(score=Score(name="sopr_score", value=0.0, label="Unsolved", detail={"reason": "a: not called"}))
    assert not unsolved.solved
    assert repr(unsolved.solved) == "<unsolved: a: not called>"
    broken = Score(name="sopr_score", value=None, failure=Failure(kind="judge", message="no database"))
    assert repr(trial(score=broken).solved) == "<not known to be solved: no database>"
    failed = trial(failure=Failure(kind="agent", message="KeyError: 'x'"))
    assert repr(failed.solved) == "<unsolved, since the trial failed: KeyError: 'x'>"
    assert (failed.answer, failed.failure is not None, failed.requests) == ("", True, 0)
    assert repr(failed) == "<trial of mine: failed: KeyError: 'x', 3 calls, 0 requests>"
