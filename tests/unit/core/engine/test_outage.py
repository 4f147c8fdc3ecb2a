"""A run ends if trial after trial says nothing, and while it waits for its endpoint, its user is told."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from support.cases import for_each
from support.trials import ended

from trialbed.engine import Outage, RunProgress, watch_endpoint
from trialbed.errors import NothingMeasured
from trialbed.records import EndpointStatus, FailureKind, ModelCall, TrialResult

LIMIT = 8


def refused(status: int = 400, *, other_model: str = "", provoked: bool = False) -> TrialResult:
    """A trial that ended as the endpoint refused a request."""
    bodies = {"request": "", "response": "", "request_bytes": 0, "response_bytes": 0}
    call = ModelCall(started=0, duration=1, status=status, other_model=other_model, provoked=provoked, **bodies)
    call = call.model_copy(update={"cause": "request" if status in (400, 404) else "endpoint"})
    result = ended("model")
    return result.model_copy(update={"wire": result.wire.model_copy(update={"model_calls": (call,)})})


def after(*results: TrialResult) -> Outage:
    outage = Outage(measured=False, key_variable="SOME_KEY")
    for result in results:
        outage.note(result)
    return outage


@for_each("kind", ["endpoint", "server"])
def test_many_trials_in_a_row_that_were_not_measured_end_the_run_at_any_time(kind: FailureKind) -> None:
    lost = [ended(kind)] * (LIMIT - 1)
    assert not after(*lost).over
    assert after(*lost, ended(kind)).over
    assert not after(*lost, ended(), *lost).over
    assert after(ended(), *lost, ended("timeout"), *lost, ended(kind)).over


def test_refusals_end_a_run_that_has_measured_nothing_unless_the_framework_provoked_them() -> None:
    assert after(*[refused()] * LIMIT).over
    assert not after(ended(), *[refused()] * LIMIT).over
    for own in (refused(404, other_model="strong"), refused(provoked=True)):
        after(own).check()
        assert not after(*[own] * LIMIT).over


@for_each("status", [401, 403])
def test_the_variable_of_a_refused_key_is_named(status: int) -> None:
    lost = refused(status).model_copy(update={"outcome": ended("endpoint").outcome})
    with pytest.MonkeyPatch.context() as patched:
        patched.delenv("SOME_KEY", raising=False)
        with pytest.raises(NothingMeasured, match=r"no key was sent: set SOME_KEY in the environment or in \.env"):
            after(lost).check()
        patched.setenv("SOME_KEY", "sk-12345678")
        with pytest.raises(NothingMeasured, match="the key in SOME_KEY was sent"):
            after(lost).check()


BUSY = EndpointStatus(answered=3, waiting=2, reason="the upstream endpoint answered with status 429: slow down")
WAITS = "waiting for the model's endpoint: "
SLOW = "; the last failure: the upstream endpoint answered with status 429: slow down"


@for_each(
    ("statuses", "said"),
    [
        ([BUSY] * 9, [f"{WAITS}2 requests wait to be repeated{SLOW}"] * 3),
        ([BUSY, None, BUSY], [f"{WAITS}2 requests wait to be repeated{SLOW}"]),
        ([BUSY.model_copy(update={"answered": number}) for number in range(9)], []),
        (
            [BUSY.model_copy(update={"state": "open", "waiting": 1})] * 2,
            [f"{WAITS}1 request waits to be repeated, and others are held back{SLOW}"],
        ),
        (
            [EndpointStatus(answered=3, held=2)] * 2,
            [f"{WAITS}2 requests wait for their turn, by its own limits or --rpm and --tpm"],
        ),
    ],
)
def test_requests_that_wait_are_reported_less_and_less_often(
    statuses: Sequence[EndpointStatus | None], said: list[str]
) -> None:
    """None is a look at which the server does not answer."""
    looks, lines, left = iter(statuses), list[str](), len(statuses)

    class Notes(RunProgress):
        def note(self, text: str) -> None:
            lines.append(text)

    async def endpoint() -> EndpointStatus:
        status = next(looks)
        if status is None:
            raise NothingMeasured("gone")
        return status

    async def pause(_seconds: float) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(watch_endpoint(endpoint, Notes(), pause))
    assert lines == said
