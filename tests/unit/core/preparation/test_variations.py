"""Runs with several models or temperatures: their columns, and how they are extended."""

from __future__ import annotations

from typing import Any

import pytest
from support.trials import run_config

from trialbed.errors import UsageError
from trialbed.models import ObjectModel
from trialbed.preparation import RunOptions
from trialbed.preparation._continuation import why_not_extended
from trialbed.preparation._variations import variations_of, with_factors
from trialbed.records import Prices, Run, TokenRate, Variation, meant_labels
from trialbed.store import new_run


def columns(**given: Any) -> dict[str, tuple[str, float | None]]:
    options = with_factors(RunOptions(**given))
    found = variations_of(options, options.frameworks, lambda _options, _model: None)
    return {label: (own.model, own.temperature) for label, own in found.items()}


def test_the_first_of_each_is_the_runs_own_and_all_combinations_have_a_column() -> None:
    found = columns(frameworks=("a", "b"), models=("scripted:gold", "scripted:partial"), temperatures=(0.0, 0.7))
    assert found == {
        "a@temperature=0.7": ("scripted:gold", 0.7),
        "b@temperature=0.7": ("scripted:gold", 0.7),
        "a@scripted:partial": ("scripted:partial", 0.0),
        "b@scripted:partial": ("scripted:partial", 0.0),
        "a@scripted:partial,temperature=0.7": ("scripted:partial", 0.7),
        "b@scripted:partial,temperature=0.7": ("scripted:partial", 0.7),
    }


def test_temperatures_that_differ_little_have_columns_of_their_own() -> None:
    found = columns(frameworks=("a",), model="scripted:gold", temperatures=(1.0, 0.1234567, 0.1234568))
    assert found == {
        "a@temperature=0.1234567": ("scripted:gold", 0.1234567),
        "a@temperature=0.1234568": ("scripted:gold", 0.1234568),
    }


def test_models_whose_endpoints_differ_in_more_than_the_host_have_columns_of_their_own() -> None:
    models = ("a@http://h:1/v1", "b@http://h:2/v1", "b@http://h:2", "b@https://h:2/v1", "c@http://h:3/v1", "c@h:3")
    assert columns(frameworks=("r",), models=models, base_url="http://h:4/v1") == {
        "r@b@h:2": ("b@http://h:2/v1", None),
        "r@b@http://h:2": ("b@http://h:2", None),
        "r@b@https://h:2/v1": ("b@https://h:2/v1", None),
        "r@c@http://h:3/v1": ("c@http://h:3/v1", None),
        "r@c@h:3": ("c@h:3", None),
    }


def test_numbers_of_tools_have_columns_and_the_runs_own_is_in_none() -> None:
    options = with_factors(
        RunOptions(frameworks=("a",), models=("scripted:gold", "scripted:partial"), tool_limits=(8, 2))
    )
    found = variations_of(options, options.frameworks, lambda _options, _model: None)
    assert options.max_tools == 8
    assert {label: own.max_tools for label, own in found.items()} == {
        "a@max_tools=2": 2,
        "a@scripted:partial": None,
        "a@scripted:partial,max_tools=2": 2,
    }
    config = run_config(frameworks=("a", *found), variations=found, max_tools=8)
    assert [config.of(label).max_tools for label in config.frameworks] == [8, 2, 8, 2]
    assert [config.own_limit(label) for label in config.frameworks] == [None, 2, None, 2]


def test_one_model_or_the_same_one_twice_is_no_factor() -> None:
    assert columns(frameworks=("a",), model="scripted:gold") == {}
    assert columns(frameworks=("a",), models=("scripted:gold", "scripted:gold")) == {}


def test_an_object_is_the_only_model_of_a_run() -> None:
    with pytest.raises(UsageError, match="give models by name"):
        with_factors(RunOptions(models=("scripted:gold", "scripted:partial")), ObjectModel(print, title="model"))


LARGE = Variation(framework="reference", model="scripted:partial")


def test_a_run_has_the_settings_of_each_column() -> None:
    config = run_config(frameworks=("reference", "reference@x"), variations={"reference@x": LARGE})
    assert config.models == ("scripted:gold", "scripted:partial")
    assert config.of("reference").model == "scripted:gold"
    assert config.of("reference@x").model == "scripted:partial"
    assert config.of("reference@x").dataset == config.dataset


def test_a_column_is_named_without_its_profile() -> None:
    labels = ("langgraph:native", "langgraph:native@scripted:partial", "reference", "reference@scripted:partial")
    assert meant_labels("langgraph", labels) == ["langgraph:native"]
    assert meant_labels("langgraph@scripted:partial", labels) == ["langgraph:native@scripted:partial"]
    assert meant_labels("reference@scripted:partial", labels) == ["reference@scripted:partial"]
    assert meant_labels("langgraph@other", labels) == []


def test_each_column_has_the_prices_of_its_model() -> None:
    config = run_config(frameworks=("reference", "reference@x"), variations={"reference@x": LARGE})
    own, other = (Prices(rates=(TokenRate(input=price, output=price),), source="s") for price in (1, 2))
    run = new_run(config, "d").model_copy(update={"prices": own, "model_prices": {"scripted:partial": other}})
    assert (run.prices_of("reference"), run.prices_of("reference@x")) == (own, other)
    assert Run.model_validate_json(run.model_dump_json()).prices_of("reference@x") == other
    assert run.model_copy(update={"model_prices": {}}).prices_of("reference@x") is None


def test_a_run_gets_more_models_but_not_others() -> None:
    one = run_config()
    versions = {"reference": "trialbed 0.1.0", "reference@x": "trialbed 0.1.0"}
    two = run_config(
        frameworks=("reference", "reference@x"), variations={"reference@x": LARGE}, adapter_versions=versions
    )
    assert why_not_extended(one, two) is None
    assert why_not_extended(two, one) == "it has the framework reference@x too; name it as well"
    other = LARGE.model_copy(update={"model_identity": "other weights"})
    changed = two.model_copy(update={"variations": {"reference@x": other}})
    assert why_not_extended(two, changed) == "the model of reference@x changed since it began"


def test_a_run_without_variations_is_stored_as_it_was() -> None:
    assert "variations" not in run_config().model_dump()
