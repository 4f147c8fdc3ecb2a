from __future__ import annotations

import pytest
from support.cases import for_each
from support.trials import ended

from trialbed.engine._outage import LIMIT, Outage
from trialbed.errors import NothingMeasured
from trialbed.records import FailureKind, ModelCall, TrialResult


def refused(
    status: int = 400, *, earlier_answer: bool = False, other_model: str = "", provoked: bool = False
) -> TrialResult:
    """A trial that ended as the endpoint refused a request."""
    call = ModelCall(
        started=0,
        duration=1,
        status=status,
        request="",
        response="",
        request_bytes=0,
        response_bytes=0,
        cause="request" if status in (400, 404) else "endpoint",
        other_model=other_model,
        provoked=provoked,
    )
    calls = (call.model_copy(update={"status": 200, "cause": None}), call) if earlier_answer else (call,)
    result = ended("model")
    return result.model_copy(update={"wire": result.wire.model_copy(update={"model_calls": calls})})


def after(*results: TrialResult, measured: bool = False) -> Outage:
    outage = Outage(measured=measured, key_variable="SOME_KEY")
    for result in results:
        outage.note(result)
    return outage


@pytest.mark.parametrize("kind", ["endpoint", "server"])
def test_many_trials_in_a_row_that_were_not_measured_end_the_run(kind: FailureKind) -> None:
    assert not after(*[ended(kind)] * (LIMIT - 1)).over
    assert after(*[ended(kind)] * LIMIT).over


def test_at_any_time() -> None:
    lost = [ended("endpoint")] * (LIMIT - 1)
    assert not after(*lost, ended(), *lost).over
    assert after(ended(), *lost, ended("timeout"), *lost, ended("endpoint")).over


def test_a_run_in_which_nothing_was_measured_says_why() -> None:
    with pytest.raises(
        NothingMeasured, match="all 2 trials that were tried failed because of the model's endpoint: refused"
    ):
        after(ended("endpoint"), ended("endpoint")).check()
    with pytest.raises(
        NothingMeasured, match="the one trial that was tried failed because of Trialbed's server: refused"
    ):
        after(ended("server")).check()


@for_each("kind", [None, "agent", "timeout", "limit", "crash"])
def test_one_trial_that_says_something_makes_a_result(kind: FailureKind | None) -> None:
    after(ended("endpoint"), ended(kind)).check()
    after(ended(kind)).check()


def test_an_endpoint_that_refuses_everything_measures_nothing() -> None:
    with pytest.raises(NothingMeasured):
        after(refused(), refused()).check()
    assert after(*[refused()] * LIMIT).over


def test_a_framework_that_asks_for_another_model_fails_itself_and_stops_no_run() -> None:
    own = refused(404, other_model="strong")
    after(own).check()
    assert not after(*[own] * LIMIT).over


def test_a_framework_that_is_refused_where_a_plain_request_is_not_fails_itself_and_stops_no_run() -> None:
    own = refused(provoked=True)
    after(own).check()
    assert not after(*[own] * LIMIT).over


def test_a_refusal_beside_answers_is_a_result() -> None:
    after(refused(earlier_answer=True)).check()
    assert not after(ended(), *[refused()] * LIMIT).over


def test_what_an_earlier_session_measured_counts() -> None:
    outage = after(*[ended("endpoint")] * LIMIT, measured=True)
    assert outage.over
    outage.check()


@pytest.mark.parametrize("status", [401, 403])
def test_where_the_key_is_refused_its_variable_is_named(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    lost = refused(status).model_copy(update={"outcome": ended("endpoint").outcome})
    with pytest.raises(NothingMeasured, match=r"no key was sent: set SOME_KEY in the environment or in \.env"):
        after(lost).check()
    monkeypatch.setenv("SOME_KEY", "sk-12345678")
    with pytest.raises(NothingMeasured, match="the key in SOME_KEY was sent"):
        after(lost).check()
