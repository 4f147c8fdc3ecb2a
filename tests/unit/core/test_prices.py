"""Prices of models, given or looked up, and the cost of requests."""

from __future__ import annotations

import pytest
from support.cases import for_each

from trialbed.errors import UsageError
from trialbed.prices import given_prices, known_prices, model_prices, read_budget, read_prices
from trialbed.records import Usage
from trialbed.settings import RunSettings

OPENAI = "https://api.openai.com/v1"


@for_each("text", ["", "1", "1,2,3,4", "a,b", "-1,2", "nan,1", "inf,1", "1,2,"])
def test_what_is_no_price_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"--price: .* IN,OUT or IN,OUT,CACHED"):
        read_prices(text)


def test_a_price_is_of_the_model_that_it_names_or_of_the_first() -> None:
    found = given_prices(("1,2", "large=3,4,0.5", "a=b:7=5,6"), "small")
    assert found == {"small": read_prices("1,2"), "large": read_prices("3,4,0.5"), "a=b:7": read_prices("5,6")}
    settings = RunSettings(model=("small",), price=("1,2", "large=3,4"), base_url="http://127.0.0.1:1/v1")
    assert model_prices(settings, ("small", "large", "other")) == {
        "small": read_prices("1,2"),
        "large": read_prices("3,4"),
    }


@for_each("texts", [("1,2", "3,4"), ("small=1,2", "3,4"), ("large=1,2", "large=1,2")])
def test_a_model_has_one_price(texts: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=r"--price: (small|large) has two prices"):
        given_prices(texts, "small")


def test_cached_tokens_have_a_price_of_their_own() -> None:
    prices = read_prices("2.5,10,1.25")
    usage = Usage(prompt_tokens=1000, completion_tokens=100, cached_tokens=400)
    assert prices.cost(usage) == pytest.approx(0.003)
    assert read_prices("2.5,10").cost(usage) == pytest.approx(0.0035)


def test_the_table_knows_a_model_at_its_own_vendor_only() -> None:
    found = known_prices("gpt-4o-mini", OPENAI)
    assert found is not None
    assert found.source.startswith("genai-prices ")
    assert (found.rates[0].input, found.rates[0].output) == (0.15, 0.6)
    assert known_prices("gpt-4o-mini", "http://127.0.0.1:8000/v1") is None
    assert known_prices("no-such-model", OPENAI) is None


def test_tiers_of_the_table_cost_what_the_table_says() -> None:
    from genai_prices import Usage as TableUsage
    from genai_prices import calc_price

    url, model = "https://generativelanguage.googleapis.com/v1beta/openai", "gemini-2.5-pro"
    prices = known_prices(model, url)
    assert prices is not None
    assert len(prices.rates) > 1
    for tokens in (1, 200_000, 200_001, 500_000):
        table = calc_price(
            TableUsage(input_tokens=tokens, output_tokens=7, cache_read_tokens=tokens // 2), model, provider_api_url=url
        )
        usage = Usage(prompt_tokens=tokens, completion_tokens=7, cached_tokens=tokens // 2)
        assert prices.cost(usage) == pytest.approx(float(table.total_price))


@for_each(
    ("text", "limit", "unit"),
    [("5USD", 5, "USD"), ("0.5 USD", 0.5, "USD"), ("2Mtokens", 2_000_000, "tokens"), ("5k tokens", 5_000, "tokens")],
)
def test_a_budget_is_an_amount_of_money_or_tokens(text: str, limit: float, unit: str) -> None:
    budget = read_budget(text, "m", read_prices("1,2"))
    assert (budget.limit, budget.unit) == (limit, unit)


@for_each("text", ["", "5", "USD", "0USD", "-1USD", "5EUR", "1e9tokens", "5 USD 6"])
def test_what_is_no_budget_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match=r"--budget: .* is not an amount above 0"):
        read_budget(text, "m", None)


def test_a_budget_of_money_needs_a_price() -> None:
    with pytest.raises(UsageError, match=r"--budget: the price of m is not known; give it as --price"):
        read_budget("5USD", "m", None)
