from __future__ import annotations

import pytest
from support.cases import for_each
from support.fidelity import api_call

from trialbed.records import ApiCall
from trialbed_adapter_lab.fidelity.behaviour import PARALLEL_CALLS as CALLS
from trialbed_adapter_lab.fidelity.behaviour import Parallel, overlap
from trialbed_adapter_lab.harness import stations

APIS = [api.ref for api in stations(CALLS, CALLS).apis]


def calls(*starts: float, duration: float = 0.25) -> list[ApiCall]:
    return [api_call(api, started=start, duration=duration) for api, start in zip(APIS, starts, strict=False)]


@for_each(
    ("starts", "at_once"),
    [
        ([0.01 * number for number in range(CALLS)], CALLS),
        ([0.25 * number for number in range(CALLS)], 1),
        ([0.3 * (number // 2) for number in range(CALLS)], 2),
        ([0.0] * (CALLS - 1) + [0.3], CALLS - 1),
        ([0.0], 1),
        ([], 0),
    ],
)
def test_calls_at_once_follow_from_when_they_were_under_way(starts: list[float], at_once: int) -> None:
    found = overlap(calls(*starts))
    assert found.at_once == at_once
    assert (found.asked, found.made) == (CALLS, len(starts))


def test_a_call_that_is_made_twice_counts_once() -> None:
    assert overlap([*calls(0.0), *calls(0.3)]).made == 1


def test_times_are_those_of_the_server() -> None:
    found = overlap(calls(1.0, 1.1, 1.2, 1.3))
    assert found.seconds == pytest.approx(0.55)
    assert found.longest == pytest.approx(0.25)


def test_without_calls_there_are_no_times() -> None:
    assert overlap([], "agent: broke") == Parallel(asked=CALLS, made=0, at_once=0, ended="agent: broke")
