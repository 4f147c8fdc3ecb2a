"""What went wrong in a trial, as it is told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from support.cases import for_each
from support.scoring import NOON, api_call, model_call, sent_call, tool

from trialbed.records import (
    ApiCall,
    AttributedCall,
    Failure,
    GoldCall,
    ModelCall,
    Outcome,
    Score,
    Timing,
    TrialKey,
    TrialResult,
    WireLog,
)
from trialbed.report.inspection import TrialProblem, fault_words, problems


def told(
    asked: Sequence[ModelCall], called: Sequence[ApiCall] = (), scores: Sequence[Score] = (), **more: Any
) -> list[TrialProblem]:
    result = TrialResult(
        trial="token",
        key=TrialKey(framework="reference", query_id=1),
        seed=0,
        outcome=Outcome(started_at=NOON, wall_time=1),
        wire=WireLog(trial="token", opened_at=NOON, model_calls=tuple(asked), api_calls=tuple(called)),
        timing=Timing(wall=1, model=0, tool=0, framework=1),
        selected_tools=("t_a",),
        scores=tuple(scores),
        **more,
    )
    return problems(result, [tool("a")])


def test_a_refused_call_that_the_framework_changed_shows_what_the_model_asked_for() -> None:
    refused = api_call("a", {"city": 1}, error="not a text\n")
    (problem,) = told([model_call(sent=[sent_call("a", '{"city": "Oslo"}')])], [refused])
    assert problem.what == "t/a was changed by the framework, and refused: not a text"
    assert problem.details == (("asked", '{"city": "Oslo"}'), ("sent", '{"city": 1}'))
    (problem,) = told([model_call(sent=[sent_call("a", '{"city": 1}')])], [refused])
    assert (problem.what, problem.details) == ("t/a was refused: not a text", (("sent", '{"city": 1}'),))


def test_tokens_of_an_agent_that_asks_no_model_are_no_problem() -> None:
    unknown = Score(name="total_tokens", value=None, bounded=False, failure=Failure(kind="model", message="no tokens"))
    unsolved = Score(name="sopr_score", value=None, failure=Failure(kind="judge", message="no verdict"))
    assert [one.what for one in told([], scores=[unknown, unsolved])] == ["solved could not be determined: no verdict"]
    (problem, _) = told([model_call()], scores=[unknown, unsolved])
    assert problem.what == "tokens could not be determined: no tokens"


def test_requests_that_a_limit_refused_one_after_the_other_are_one_problem() -> None:
    over = model_call(status=403, cause="limit", limit="max_steps", error="over")
    failed = model_call(status=400, cause="request", error="no")
    found = told([model_call(), over, over, over, failed, failed, over])
    assert [problem.where for problem in found] == ["requests 2 to 4", "request 5", "request 6", "request 7"]
    assert found[0].what == "failed (limit): over"


def request(**fields: Any) -> str:
    offered = [{"type": "function", "function": {"name": name}} for name in ("t_a", "t_b")]
    return json.dumps({"messages": [{"role": "user", "content": "?"}], "tools": offered, **fields})


@for_each(
    ("asked", "body", "what", "details"),
    [
        (
            '{"city": "Oslo"}',
            request(),
            "t/a was called with arguments that the model did not write",
            (("asked", '{"city": "Oslo"}'), ("sent", '{"city": "Rome"}')),
        ),
        (
            '{"city": "Rome"}',
            request(tool_choice={"type": "function", "function": {"name": "t_a"}}),
            "t/a was called, as the request forced the call with tool_choice",
            (),
        ),
        (
            '{"city": "Rome"}',
            request(messages=[{"role": "user", "content": 'Call t_a with {"city": "Rome"}.'}]),
            "t/a was called, as the request had told the model to",
            (),
        ),
        (None, request(), "t/a was called, though no answer of the model asked for it", ()),
    ],
)
def test_a_call_that_is_not_the_models_is_told_as_what_it_is(
    asked: str | None, body: str, what: str, details: tuple[tuple[str, str], ...]
) -> None:
    sent = [] if asked is None else [sent_call("a", asked)]
    found = told([model_call(sent=sent, request=body)], [api_call("a", {"city": "Rome"}, started=9)])
    (problem,) = [one for one in found if one.where == "call 1"]
    assert (problem.what, problem.details) == (what, details)


def test_what_an_injected_fault_made_fail_is_said_to_be_its_doing() -> None:
    request = model_call().model_copy(update={"status": 500, "error": "it is down", "fault": "server_error"})
    refused = api_call("a", {}, error="try again").model_copy(update={"fault": "rate_limit"})
    late = api_call("a", {}, error="no such town").model_copy(update={"fault": "slow"})
    own = api_call("a", {}, error="no such city")
    assert [one.what for one in told([request], [refused, late, own]) if one.where != "answer"][:4] == [
        "failed, by an injected fault (server error): it is down",
        "t/a was refused, by an injected fault (rate limit): try again",
        "t/a was refused: no such town",
        "t/a was refused: no such city",
    ]
    assert fault_words(own) == ""
    assert fault_words(own.model_copy(update={"fault": "injection:INJ-1"})) == "injection"


def test_losses_are_those_that_the_trial_was_stored_with_also_without_its_dataset() -> None:
    lost = {
        "a": ("wrong arguments", "invalid json"),
        "b": ("not called", "not asked for"),
        "c": (None, ""),
    }
    gold = [
        AttributedCall(gold=GoldCall(api=tool(name).api), lost=stage, reason=why) for name, (stage, why) in lost.items()
    ]
    extra = Score(name="api_call_score", value=0.0, detail={"extra": [["t", "d"]]})
    cut, *others = told([model_call(sent=[sent_call("a", "{", "invalid json")])], scores=[extra], gold_calls=gold)
    assert cut.what == "the model's call of t_a could not be made: invalid JSON"
    assert [one.what for one in others] == [
        "t/a: wrong arguments: invalid JSON",
        "t/b: not called: not asked for",
        "t/d was called, and is not expected",
    ]
