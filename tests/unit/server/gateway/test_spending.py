"""The budget of a run, as the gateway keeps it."""

from __future__ import annotations

from trialbed.prices import read_prices
from trialbed.records import Budget, Usage
from trialbed_server.gateway.endpoints import Spending


def test_a_budget_of_money_is_used_up_by_what_tokens_cost() -> None:
    spending = Spending(Budget(limit=0.01, unit="USD", prices=read_prices("1,2"), model="m"))
    spending.use("m", Usage(prompt_tokens=5_000, completion_tokens=1_000))
    assert spending.refusal("m") is None
    spending.use("m", Usage(prompt_tokens=3_000))
    assert spending.refusal("m") == "the budget of this run is used up: 0.01 USD of 0.01 USD"


def test_a_budget_of_tokens_counts_those_of_the_runs_model_and_of_earlier_sessions() -> None:
    spending = Spending(Budget(limit=1_000, unit="tokens", spent=900, model="m"))
    spending.use("judge", Usage(prompt_tokens=5_000))
    assert spending.refusal("m") is None
    spending.use("m", Usage(prompt_tokens=60, completion_tokens=50))
    assert spending.refusal("m") == "the budget of this run is used up: 1,010 tokens of 1,000 tokens"
    assert spending.refusal("judge") is None


def test_without_a_budget_everything_is_asked() -> None:
    spending = Spending(None)
    spending.use("m", Usage(prompt_tokens=10**12))
    assert spending.refusal("m") is None


def test_a_budget_counts_every_model_of_the_run_at_its_own_price() -> None:
    others = {"dear": read_prices("100,100")}
    spending = Spending(Budget(limit=1, unit="USD", prices=read_prices("1,1"), model="m", others=others))
    spending.use("m", Usage(prompt_tokens=5_000))
    assert spending.refusal("dear") is None
    spending.use("dear", Usage(prompt_tokens=10_000))
    assert (
        spending.refusal("m") == spending.refusal("dear") == "the budget of this run is used up: 1.00 USD of 1.00 USD"
    )
