"""How often and when a request is repeated."""

from __future__ import annotations

import random

from support.cases import for_each

from trialbed.wire import RetryWaits
from trialbed_server.gateway.attempts import RetryBudget


def longest(_low: float, high: float) -> float:
    return high


@for_each(
    ("number", "elapsed", "asked", "seconds"),
    [
        (1, 0, None, 0.5),
        (2, 0, None, 1.0),
        (5, 0, None, 8.0),
        (8, 0, None, 30.0),
        (9, 0, None, None),  # there are 8 retries
        (8, 90.5, None, None),  # there are 120 seconds
        (1, 0, 0.0, 0.5),  # asks for nothing
        (1, 0, 7.0, 7.5),
        (8, 0, 119.5, 120.0),
        (1, 1, 119.5, None),
        (1, 0, 3600.0, None),
    ],
)
def test_waits_double_unless_the_endpoint_asks_and_end_with_the_patience(
    number: int, elapsed: float, asked: float | None, seconds: float | None
) -> None:
    assert RetryWaits(draw=longest).wait(number, elapsed, asked) == seconds


def test_waits_are_spread() -> None:
    drawn = random.Random(1)
    waits = {RetryWaits(draw=drawn.uniform).wait(4, 0, None) for _ in range(50)}
    assert len(waits) == 50
    assert all(wait is not None and 0 <= wait <= 4 for wait in waits)


def test_the_budget_is_used_up_by_an_endpoint_that_seldom_answers() -> None:
    budget = RetryBudget(size=10)
    assert [budget.take() for _ in range(11)] == [True] * 10 + [False]
    budget.answered()
    assert [budget.take() for _ in range(3)] == [True, True, False]
    for _ in range(100):
        budget.answered()
    assert budget.left == 10
