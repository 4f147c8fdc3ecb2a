"""The prices of a run and of its helpers: given by name, kept for as long as the run goes on."""

from __future__ import annotations

from typing import Any

import pytest
from support.cases import for_each
from support.trials import cells_of, run_config

from trialbed.errors import ModelUnavailable, UsageError
from trialbed.models import HelperModels
from trialbed.preparation._options import RunOptions
from trialbed.preparation._prepare import check_prices, prices_of
from trialbed.prices import read_prices
from trialbed.records import HelperUse, Run, Usage
from trialbed.store import new_run

URL = "http://127.0.0.1:1/v1"
CONFIG = run_config(*cells_of("r", model="small"), *cells_of("r@large", model="large"), base_url=URL)
SMALL, LARGE, JUDGE = read_prices("1,2"), read_prices("3,4"), read_prices("5,6")


def options(*price: str, **more: Any) -> RunOptions:
    return RunOptions(**{"model": ("small", "large"), "base_url": URL, "price": price, **more})


def begun(**known: Any) -> Run:
    return new_run(CONFIG, "d").model_copy(update=known)


def test_each_model_has_the_price_that_it_is_given() -> None:
    assert prices_of(options("1,2", "large=3,4"), CONFIG, None) == {"small": SMALL, "large": LARGE}
    assert prices_of(options("large=3,4"), CONFIG, None) == {"large": LARGE}


def test_a_run_goes_on_with_the_prices_that_it_began_with() -> None:
    run = begun(prices={"small": SMALL, "large": LARGE})
    assert prices_of(options(), CONFIG, run) == {"small": SMALL, "large": LARGE}
    assert prices_of(options("1,2", "large=3,4"), CONFIG, run) == {"small": SMALL, "large": LARGE}
    use = HelperUse(role="judge", model="judge", prices=JUDGE)
    for price, of in (("3,4", "small"), ("large=1,2", "large"), ("judge=1,2", "judge")):
        with pytest.raises(UsageError, match=f"began with other prices for {of} and"):
            prices_of(options(price), CONFIG, begun(prices={"small": SMALL, "large": LARGE}, helpers=(use,)))


def test_a_model_by_which_a_run_is_extended_may_be_given_a_price() -> None:
    run = new_run(run_config(model="small", base_url=URL), "d").model_copy(update={"prices": {"small": SMALL}})
    assert prices_of(options("large=3,4"), CONFIG, run) == {"small": SMALL, "large": LARGE}


@for_each("price", ["large=3,4", "judge=5,6", "simulator=1,1", "selector=1,1", "small=1,2", "1,2"])
def test_prices_of_models_and_helpers_are_taken(price: str) -> None:
    helpers = {
        "judge": "judge",
        "simulator_model": "simulator",
        "selector_model": "selector",
    }
    check_prices(options(price, **helpers))


def test_a_price_of_a_model_that_is_not_in_the_run_is_refused() -> None:
    with pytest.raises(
        UsageError, match=r"no model of this run is called 'larg'; did you mean 'large'\? Known are small, large"
    ):
        check_prices(options("larg=1,2"))


def test_a_helper_has_the_price_of_its_model() -> None:
    found = HelperModels(options("1,2", "judge=5,6", judge="judge"), begun(prices={"small": SMALL}))
    assert found.prices("judge", "judge") == JUDGE
    same = HelperModels(options("1,2", judge="small"), begun(prices={"small": SMALL}))
    assert same.prices("judge", "small") == SMALL


def test_a_helper_has_a_budget_and_a_price() -> None:
    helpers = HelperModels(options("chooser=2,0", selector_model="chooser", max_helper_requests=1))
    budget = helpers.budget("selector", "chooser")
    assert budget is helpers.budget("selector", "chooser")
    budget.take_request()
    budget.add_tokens(Usage(prompt_tokens=10))
    (use,) = helpers.uses()
    assert (use.role, use.model, use.tokens, use.cost) == ("selector", "chooser", 10, pytest.approx(2e-5))
    with pytest.raises(ModelUnavailable, match="1 request is used up"):
        budget.take_request()
