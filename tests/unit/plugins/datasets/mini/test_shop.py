"""The shop: Apis that change something."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.cases import for_each

from trialbed.contracts import ApiRefused
from trialbed_plugins.datasets.mini import MiniDriver, ShopSimulator

DATASET = MiniDriver().open("shop", Path())
APIS = {api.api_name: api for api in DATASET.apis()}


def test_every_query_has_a_state_and_an_answer_that_its_gold_calls_lead_to() -> None:
    queries = DATASET.queries()
    assert len(queries) >= 10
    assert len({str(query.final_state) for query in queries}) == len(queries)
    for query in queries:
        basket = ShopSimulator().world()
        responses = [str(basket.call(APIS[call.api.api_name], call.arguments or {})) for call in query.gold_calls]
        assert basket.state() == query.final_state
        assert query.reference_facts[0] in responses[-1]


@for_each(
    ("api", "arguments"),
    [
        ("Add to basket", {"product": "gold", "quantity": 1}),
        ("Add to basket", {"product": "rope", "quantity": 0}),
        ("Set quantity", {"product": "rope", "quantity": -1}),
        ("Remove from basket", {"product": "rope"}),
        ("Apply coupon", {"code": "NONE"}),
        ("Place order", {"city": "Velmora"}),
    ],
)
def test_what_cannot_be_done_changes_nothing(api: str, arguments: dict[str, object]) -> None:
    basket = ShopSimulator().world()
    with pytest.raises(ApiRefused):
        basket.call(APIS[api], arguments)  # type: ignore[arg-type]
    assert basket.state() == ShopSimulator().world().state()
