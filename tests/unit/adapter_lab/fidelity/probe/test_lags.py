from __future__ import annotations

import time

import pytest

from trialbed_adapter_lab.fidelity.probe._lags import Lags, measured_lags


def test_every_moment_that_was_due_counts_with_its_own_delay() -> None:
    lags = Lags(0.01)
    assert lags.add(1.0, 1.0305) == pytest.approx(1.04)
    assert lags.count == 4
    assert lags.longest == pytest.approx(0.0305)
    assert lags.add(1.04, 1.04) == pytest.approx(1.05)
    assert lags.count == 5


def test_a_long_block_weighs_as_much_as_it_lasted() -> None:
    lags = Lags(0.01)
    due = 0.0
    for _ in range(50):
        due = lags.add(due, due)
    lags.add(due, due + 0.5)
    assert lags.count == pytest.approx(100, abs=2)
    assert lags.p95 > 0.4


def test_nothing_seen_is_no_delay() -> None:
    assert (Lags(0.01).longest, Lags(0.01).p95, Lags(0.01).count) == (0.0, 0.0, 0)


async def test_a_loop_that_is_blocked_is_found_blocked() -> None:
    ticks: list[float] = []
    async with measured_lags(0.005, lambda: ticks.append(time.perf_counter())) as lags:
        time.sleep(0.2)  # noqa: ASYNC251 - blocking the loop is what is measured
    assert lags.longest > 0.15
    assert lags.count >= 30
    assert ticks
