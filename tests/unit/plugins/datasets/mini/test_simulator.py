"""Answers of the embedded world."""

from __future__ import annotations

import itertools
import json
import math
from collections import defaultdict
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from trialbed.contracts import Simulation
from trialbed.errors import SimulationError
from trialbed.records import Api, ApiRef, Parameter, json_type
from trialbed_plugins.datasets.mini import MiniSimulator
from trialbed_plugins.datasets.mini._world import load_world

WORLD = load_world()
SIMULATOR = MiniSimulator()
SAMPLES: dict[str, list[Any]] = {"integer": [3], "number": [250.5], "boolean": [True, False], "string": ["x"]}


def api_of(tool_name: str, api_name: str) -> Api:
    return next(api for api in WORLD.apis.values() if api.ref.pair == (tool_name, api_name))


def simulated(api: Api, arguments: dict[str, Any], name: str = "") -> Simulation:
    """What the simulator answers; it waits for nothing, so that it needs no event loop."""
    try:
        SIMULATOR.simulate(api, name, arguments).send(None)
    except StopIteration as answered:
        found: Simulation = answered.value
        return found
    raise AssertionError("it waits")


def call(tool_name: str, api_name: str, /, **arguments: Any) -> Simulation:
    api = api_of(tool_name, api_name)
    return simulated(api, arguments, api.ref.title)


def values_for(api: Api, parameter: Parameter) -> list[Any]:
    target = WORLD.endpoints[api.ref].lookups.get(parameter.name)
    if target is not None:
        table, column = target.split(".")
        return [row[column] for row in WORLD.tables[table].rows]
    if parameter.enum:
        return list(parameter.enum)
    if json_type(parameter.type) == "array":
        return [["salt kelp"], []]
    return SAMPLES[json_type(parameter.type)]


def valid_calls(api: Api) -> list[dict[str, Any]]:
    names = [parameter.name for parameter in api.required_parameters]
    choices = [values_for(api, parameter) for parameter in api.required_parameters]
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*choices)]


async def test_every_api_answers_calls_with_keys_that_exist(subtests: pytest.Subtests) -> None:
    """Pairs of keys that nothing connects may be refused, but never all of them."""
    for api in WORLD.apis.values():
        with subtests.test(api.ref.title):
            answers = [await SIMULATOR.simulate(api, api.ref.title, arguments) for arguments in valid_calls(api)]
            good = [answer for answer in answers if not answer.error]
            assert good
            if len(api.required_parameters) == 1:
                assert len(good) == len(answers)
            for answer in good:
                assert isinstance(answer.response, dict)
                assert json.loads(json.dumps(answer.response, allow_nan=False)) == answer.response


def test_parameters_are_taken_and_named_where_they_are_missing_or_of_a_wrong_type(subtests: pytest.Subtests) -> None:
    for api in WORLD.apis.values():
        with subtests.test(api.ref.title):
            arguments, required, optional = valid_calls(api)[0], api.required_parameters, api.optional_parameters
            missing = simulated(api, {})
            assert any(repr(parameter.name) in missing.error for parameter in required)
            assert missing.response == ""
            for parameter in optional:
                for value in values_for(api, parameter):
                    assert simulated(api, arguments | {parameter.name: value}).error == ""
            for parameter in (*required, *optional):
                answer = simulated(api, arguments | {parameter.name: {"not": "a value"}})
                assert repr(parameter.name) in answer.error


@settings(max_examples=examples(0.5))
@given(api=st.sampled_from(list(WORLD.apis.values())), data=st.data())
def test_any_arguments_get_an_answer_or_an_error(api: Api, data: st.DataObject) -> None:
    names = [parameter.name for parameter in (*api.required_parameters, *api.optional_parameters)]
    leaf = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
    value = leaf | st.lists(leaf, max_size=2) | st.sampled_from(["Velmora", "monday", 10**400, 1e308, -1, 0])
    arguments = data.draw(st.dictionaries(st.sampled_from(names), value))
    answer = simulated(api, arguments)
    assert isinstance(answer, Simulation)
    assert (answer.response == "") == bool(answer.error)
    json.dumps(answer.response, allow_nan=False)


def test_an_unknown_key_is_named() -> None:
    assert call("Atlas of Tarnmere", "City by name", name="Paris").error == "no city named 'Paris'"
    assert call("Open Shelf", "Book by id", book_id="BK-0").error == "no book with book_id 'BK-0'"


def test_an_unknown_word_of_an_enumeration_is_refused() -> None:
    error = call("MereWeather", "Forecast for day", city="Velmora", day="someday").error
    assert error.startswith("invalid value of parameter 'day'")


def test_an_error_does_not_repeat_all_that_was_sent() -> None:
    assert len(call("Atlas of Tarnmere", "City by name", name="x" * 10**6).error) <= 500


def test_bounds_are_kept() -> None:
    error = call("GeoDistance-API", "distance/nearest", city="Velmora", limit=0).error
    assert error == "parameter 'limit' must be at least 1, not 0"


def test_a_figure_out_of_range_is_an_error() -> None:
    error = call("Currency Exchange_v2", "/convert", amount=10**400, source="TMR", target="OSK").error
    assert "'amount' is out of range" in error


def test_filters_narrow_the_list_and_defaults_apply() -> None:
    everything = call("GeoDistance-API", "distance/nearest", city="Velmora").response
    assert everything["count"] == 3
    fewer = call("GeoDistance-API", "distance/nearest", city="Velmora", limit=1).response
    assert fewer["nearest"] == everything["nearest"][:1]
    hotels = call("Hotel Scout_v2", "search", city="Brannoch").response["hotels"]
    pets = call("Hotel Scout_v2", "search", city="Brannoch", pets_allowed=True).response["hotels"]
    assert [hotel["price"] for hotel in hotels] == sorted(hotel["price"] for hotel in hotels)
    assert len(pets) < len(hotels)
    amenity = hotels[0]["amenities"][0]
    found = call("Hotel Scout_v2", "search", city="Brannoch", amenities=[amenity]).response["hotels"]
    assert all(amenity in hotel["amenities"] for hotel in found)
    assert hotels[0] in found


def test_figures_are_computed_from_the_tables() -> None:
    unit = call("Product Catalogue_v2", "item by name", name="Oyster Press").response
    total = call("Product Catalogue_v2", "price-for-quantity", sku=unit["sku"], quantity=7).response["total"]
    assert math.isclose(total, 7 * unit["price"], abs_tol=0.005)
    rates = {code: call("Currency Exchange_v2", "/rates/{code}", code=code).response for code in ("KYN", "PHO")}
    converted = call("Currency Exchange_v2", "/convert", amount=90, source="KYN", target="PHO").response["converted"]
    assert converted == round(90 * rates["KYN"]["meres_per_unit"] / rates["PHO"]["meres_per_unit"], 2)


def test_keys_are_found_whatever_their_case() -> None:
    assert call("Atlas of Tarnmere", "City by name", name=" velmora ") == call(
        "Atlas of Tarnmere", "City by name", name="Velmora"
    )


def test_apis_agree_about_the_same_thing() -> None:
    """Whatever two Apis say of the row with one identifier, under one key, is the same."""
    said: dict[tuple[str, str], set[str]] = defaultdict(set)
    key_columns = {table.key for table in WORLD.tables.values()}
    for api in WORLD.apis.values():
        for arguments in valid_calls(api):
            _collect(simulated(api, arguments).response, key_columns, said)
    populations = {values for (_, key), values in said.items() if key == "population" for values in values}
    assert len(populations) == 12
    assert {place: values for place, values in said.items() if len(values) > 1} == {}


def _collect(response: Any, keys: set[str], said: dict[tuple[str, str], set[str]]) -> None:
    for record in response.values() if isinstance(response, dict) else ():
        for item in record if isinstance(record, list) else ():
            if isinstance(item, dict):
                _collect(item, keys, said)
    if isinstance(response, dict):
        own = next((key for key in response if key in keys), None)
        for key, value in response.items() if own else ():
            if key not in ("total", "kcal"):
                said[response[own], key].add(json.dumps(value))


async def test_answers_are_the_same_every_time() -> None:
    for api in WORLD.apis.values():
        arguments = valid_calls(api)[0]
        assert await MiniSimulator().simulate(api, "", arguments) == await MiniSimulator().simulate(api, "", arguments)


async def test_a_call_without_documentation_is_answered_by_its_path() -> None:
    api = api_of("Landmark Finder", "/landmarks/search")
    ref = f"{api.category}/{api.tool_name}/{api.api_name}"
    assert (await SIMULATOR.simulate(None, ref, {"city": "Velmora"})).response["count"] == 2


async def test_an_unknown_api_cannot_be_simulated() -> None:
    stranger = Api(category="Geography", tool_name="Atlas of Tarnmere", api_name="Moons")
    with pytest.raises(SimulationError, match="no tool 'Geography/Atlas of Tarnmere/Moons'"):
        await SIMULATOR.simulate(stranger, "Geography/Atlas of Tarnmere/Moons", {})
    with pytest.raises(SimulationError, match="no tool 'x/y/z'"):
        await SIMULATOR.simulate(None, "x/y/z", {})


def test_the_revision_is_the_datas_digest() -> None:
    assert SIMULATOR.revision(None) == WORLD.digest
    assert len(WORLD.digest) == 64
    assert SIMULATOR.provenance == "mini"
    assert ApiRef(category="Geography", tool_name="Atlas of Tarnmere", api_name="City by name") in WORLD.apis
