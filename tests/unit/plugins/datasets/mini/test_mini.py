"""The embedded queries, the world that answers, and the shop."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each

from trialbed.contracts import ApiRefused, Simulation
from trialbed.errors import SimulationError, UsageError
from trialbed.evidence import carries, evidence_values
from trialbed.records import Api, Query
from trialbed_plugins.datasets.mini import MiniDriver, MiniSimulator, ShopSimulator

DATA_DIR = Path("unused")
DATASET = MiniDriver().open(None, DATA_DIR)
QUERIES = DATASET.queries()
BY_REF = {api.ref: api for api in DATASET.apis()}


def kind(query: Query) -> str:
    tools = {(ref.category, ref.tool_name) for ref in query.gold_apis}
    categories = {ref.category for ref in query.gold_apis}
    if len(tools) == 1:
        return "one tool"
    return "one category" if len(categories) == 1 else "several categories"


async def gold_responses(query: Query) -> list[dict[str, object]]:
    responses = []
    for call in query.gold_calls:
        simulation = await MiniSimulator().simulate(BY_REF[call.api], call.api.title, dict(call.arguments or {}))
        assert simulation.error == ""
        responses.append(simulation.response)
    return responses


def text_of(response: object) -> str:
    return "\n".join([*evidence_values(response), json.dumps(response)])


def test_there_are_sixty_queries_twenty_of_each_kind() -> None:
    assert len(QUERIES) == 60
    assert set(Counter(map(kind, QUERIES)).values()) == {20}
    assert len({query.query_id for query in QUERIES}) == 60
    assert len({query.text for query in QUERIES}) == 60


def test_a_run_of_few_queries_meets_every_kind() -> None:
    assert len({kind(query) for query in QUERIES[:3]}) == 3


def test_offers_hold_gold_and_distractors(subtests: pytest.Subtests) -> None:
    for query in QUERIES:
        with subtests.test(query=query.query_id):
            offered = {api.ref for api in query.apis}
            gold_tools = {(ref.category, ref.tool_name) for ref in query.gold_apis}
            assert 5 <= len(offered) <= 10
            assert offered >= set(query.gold_apis)
            assert any((ref.category, ref.tool_name) not in gold_tools for ref in offered)
            assert all(BY_REF[api.ref] == api for api in query.apis)


async def test_each_gold_call_contributes_facts_of_its_own(subtests: pytest.Subtests) -> None:
    for query in QUERIES:
        with subtests.test(query=query.query_id):
            assert 1 <= len(query.gold_calls) <= 4
            responses = await gold_responses(query)
            owners = []
            for fact in query.reference_facts:
                holders = [number for number, response in enumerate(responses) if carries(text_of(response), fact)]
                assert len(holders) == 1, fact
                assert fact in evidence_values(responses[holders[0]])
                assert not carries(query.text, fact)
                assert not carries(json.dumps(query.gold_calls[holders[0]].arguments), fact)
                owners += holders
            assert set(owners) == set(range(len(responses)))


def test_the_reference_answer_states_every_fact(subtests: pytest.Subtests) -> None:
    for query in QUERIES:
        with subtests.test(query=query.query_id):
            assert query.reference_answer is not None
            assert all(carries(query.reference_answer, fact) for fact in query.reference_facts)


def test_another_test_set_is_refused_with_the_one_there_is() -> None:
    assert MiniDriver().test_sets(DATA_DIR) == ["mini", "shop"]
    with pytest.raises(UsageError, match="no test set 'maxi'; it has 'mini' and 'shop'"):
        MiniDriver().open("maxi", DATA_DIR)


APIS = {api.ref: api for api in DATASET.apis()}
BY_NAME = {ref.pair: api for ref, api in APIS.items()}
CALLS = {call.api: call.arguments or {} for query in DATASET.queries() for call in query.gold_calls}


def simulated(api: Api, arguments: dict[str, Any]) -> Simulation:
    """What the simulator answers; it waits for nothing, so that it needs no event loop."""
    try:
        MiniSimulator().simulate(api, api.ref.title, arguments).send(None)
    except StopIteration as answered:
        found: Simulation = answered.value
        return found
    raise AssertionError("it waits")


def call(tool_name: str, api_name: str, /, **arguments: Any) -> Simulation:
    return simulated(BY_NAME[tool_name, api_name], arguments)


def test_every_expected_call_is_answered_and_wrong_arguments_are_named() -> None:
    assert len(CALLS) > 60
    for ref, arguments in CALLS.items():
        answer = simulated(APIS[ref], dict(arguments))
        assert (answer.error, type(answer.response)) == ("", dict), ref
        assert json.loads(json.dumps(answer.response, allow_nan=False)) == answer.response
        for name in arguments:
            assert repr(name) in simulated(APIS[ref], {**arguments, name: {"not": "a value"}}).error
        for parameter in APIS[ref].required_parameters:
            left = {name: value for name, value in arguments.items() if name != parameter.name}
            missing = simulated(APIS[ref], left)
            assert (repr(parameter.name) in missing.error, missing.response) == (True, "")


@for_each(
    ("api", "arguments", "error"),
    [
        (("Atlas of Tarnmere", "City by name"), {"name": "Paris"}, "no city named 'Paris'"),
        (("Open Shelf", "Book by id"), {"book_id": "BK-0"}, "no book with book_id 'BK-0'"),
        (("MereWeather", "Forecast for day"), {"city": "Velmora", "day": "someday"}, "of parameter 'day'"),
        (("GeoDistance-API", "distance/nearest"), {"city": "Velmora", "limit": 0}, "'limit' must be at least 1, not 0"),
        (
            ("Currency Exchange_v2", "/convert"),
            {"amount": 10**400, "source": "TMR", "target": "OSK"},
            "'amount' is out of range",
        ),
        (("Atlas of Tarnmere", "City by name"), {"name": "x" * 10**6}, "no city named"),
    ],
)
def test_what_cannot_be_answered_is_a_short_error(api: tuple[str, str], arguments: Any, error: str) -> None:
    found = simulated(BY_NAME[api], arguments).error
    assert error in found
    assert len(found) <= 500


def test_filters_narrow_the_list_and_defaults_apply() -> None:
    everything = call("GeoDistance-API", "distance/nearest", city="Velmora").response
    assert everything["count"] == 3
    fewer = call("GeoDistance-API", "distance/nearest", city=" velmora ", limit=1).response
    assert fewer["nearest"] == everything["nearest"][:1]
    hotels = call("Hotel Scout_v2", "search", city="Brannoch").response["hotels"]
    pets = call("Hotel Scout_v2", "search", city="Brannoch", pets_allowed=True).response["hotels"]
    assert [hotel["price"] for hotel in hotels] == sorted(hotel["price"] for hotel in hotels)
    assert len(pets) < len(hotels)


def test_figures_are_computed_from_the_tables() -> None:
    unit = call("Product Catalogue_v2", "item by name", name="Oyster Press").response
    total = call("Product Catalogue_v2", "price-for-quantity", sku=unit["sku"], quantity=7).response["total"]
    assert math.isclose(total, 7 * unit["price"], abs_tol=0.005)
    rates = {code: call("Currency Exchange_v2", "/rates/{code}", code=code).response for code in ("KYN", "PHO")}
    converted = call("Currency Exchange_v2", "/convert", amount=90, source="KYN", target="PHO").response["converted"]
    assert converted == round(90 * rates["KYN"]["meres_per_unit"] / rates["PHO"]["meres_per_unit"], 2)


async def test_a_call_without_documentation_is_answered_by_its_path_and_an_unknown_api_is_none() -> None:
    api = BY_NAME["Landmark Finder", "/landmarks/search"]
    ref = f"{api.category}/{api.tool_name}/{api.api_name}"
    assert (await MiniSimulator().simulate(None, ref, {"city": "Velmora"})).response["count"] == 2
    with pytest.raises(SimulationError, match="no tool 'x/y/z'"):
        await MiniSimulator().simulate(None, "x/y/z", {})


SHOP = MiniDriver().open("shop", Path())
SHOP_APIS = {api.api_name: api for api in SHOP.apis()}


def test_every_query_has_a_state_and_an_answer_that_its_gold_calls_lead_to() -> None:
    queries = SHOP.queries()
    assert len(queries) >= 10
    assert len({str(query.final_state) for query in queries}) == len(queries)
    for query in queries:
        basket = ShopSimulator().world()
        responses = [str(basket.call(SHOP_APIS[call.api.api_name], call.arguments or {})) for call in query.gold_calls]
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
        basket.call(SHOP_APIS[api], arguments)  # type: ignore[arg-type]
    assert basket.state() == ShopSimulator().world().state()
