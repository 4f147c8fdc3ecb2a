"""How many requests are repeated."""

from __future__ import annotations

from trialbed_server.gateway.upstream import RetryBudget


def test_the_budget_is_used_up_by_an_endpoint_that_seldom_answers() -> None:
    budget = RetryBudget(size=10)
    assert [budget.take() for _ in range(11)] == [True] * 10 + [False]
    budget.answered()
    assert [budget.take() for _ in range(3)] == [True, True, False]
    for _ in range(100):
        budget.answered()
    assert budget.left == 10
