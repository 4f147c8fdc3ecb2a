"""Requests outside of the time for which an agent's clock ran, and the time that they add."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from support.cases import for_each

from trialbed.integrity import outside_clock
from trialbed.records import ApiCall, ApiRef, ModelCall, Outcome, WireLog

OPENED = datetime(2026, 1, 2, tzinfo=UTC)
API = ApiRef(category="C", tool_name="T", api_name="a")
LATEST = 0.5
"""Seconds after the earliest moment at which the server's clock of the trial may have begun."""


def at(seconds: float) -> datetime:
    return OPENED + timedelta(seconds=seconds)


def asked(started: float, duration: float = 0.1) -> ModelCall:
    return ModelCall(
        started=started, duration=duration, status=200, request="", response="", request_bytes=0, response_bytes=0
    )


def called(started: float) -> ApiCall:
    return ApiCall(started=started, duration=0.1, api=API, offered=True, arguments={})


def outcome(begun: float = 1.0, ended: float = 3.0) -> Outcome:
    return Outcome(started_at=at(begun), ended_at=at(ended), wall_time=ended - begun)


def log(*calls: ModelCall | ApiCall) -> WireLog:
    return WireLog(
        trial="t",
        opened_at=OPENED,
        model_calls=tuple(call for call in calls if isinstance(call, ModelCall)),
        api_calls=tuple(call for call in calls if isinstance(call, ApiCall)),
    )


def outside(*calls: ModelCall | ApiCall, run: Outcome | None = None) -> list[float]:
    _, found = outside_clock(run or outcome(), log(*calls), (OPENED, at(LATEST)))
    return [call.started for call in found]


def test_requests_after_the_end_and_before_the_beginning_are_found_in_order() -> None:
    assert outside(asked(5.0), called(4.0), asked(2.9), called(0.0)) == [0.0, 4.0, 5.0]


@for_each(
    ("started", "found"),
    [(3.25, False), (3.26, True), (0.15, False), (0.14, True)],
    ids=["in time", "late", "begun before and still under way", "early"],
)
def test_a_request_counts_as_outside_only_where_that_is_certain(started: float, found: bool) -> None:
    # The clock began at 0.5 at the latest, so that 1.0 of the worker is 0.5 of it, less the allowance.
    assert bool(outside(asked(started), asked(2.9))) is found


def test_messages_that_were_read_late_make_no_request_early() -> None:
    # It worked from 0.4 to 0.9, of which the executor heard at 3.0.
    late = outcome(begun=2.5, ended=3.0)
    assert outside(asked(0.45), called(0.5), asked(0.8), run=late) == []
    assert outside(asked(0.0), called(0.1), asked(0.9), run=late) == [0.0, 0.1]


def test_nothing_is_outside_where_no_end_was_seen() -> None:
    killed = Outcome(started_at=at(1), wall_time=2)
    assert outside(asked(100.0), run=killed) == []
    assert outside_clock(killed, log(asked(100.0)), (OPENED, OPENED))[0] == killed


@for_each(
    ("calls", "seconds"),
    [([], 2), ([asked(6.0, 0.5)], 5.5), ([asked(0.2), asked(2.9), called(4.0)], 3.9)],
    ids=["none", "late", "early and late"],
)
def test_the_time_reaches_from_the_first_request_to_the_last(calls: list[ModelCall | ApiCall], seconds: float) -> None:
    assert outside_clock(outcome(), log(*calls), (OPENED, OPENED))[0].wall_time == pytest.approx(seconds)
