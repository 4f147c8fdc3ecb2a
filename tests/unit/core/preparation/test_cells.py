"""The cells of a run: a column for each combination of framework, model, temperature and number of tools."""

from __future__ import annotations

from typing import Any

import pytest
from support.trials import cells_of, run_config

from trialbed.errors import UsageError
from trialbed.preparation import RunOptions, prepare
from trialbed.preparation._continuation import why_not_extended
from trialbed.records import Prices, Run, RunCell, RunConfig, TokenRate, meant_labels
from trialbed.store import new_run

MODELS = ("scripted:gold", "scripted:partial")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.chdir(tmp_path)


def columns(**given: Any) -> dict[str, tuple[str, float | None, int]]:
    cells = prepare(RunOptions(limit=1, **given)).config.cells
    return {cell.label: (cell.model, cell.temperature, cell.max_tools) for cell in cells}


def test_all_combinations_have_a_cell_that_is_named_by_what_the_run_has_several_of() -> None:
    assert columns(model=MODELS, temperature=(0.0, 0.7)) == {
        "reference@scripted:gold,temperature=0": ("scripted:gold", 0.0, 120),
        "reference@scripted:gold,temperature=0.7": ("scripted:gold", 0.7, 120),
        "reference@scripted:partial,temperature=0": ("scripted:partial", 0.0, 120),
        "reference@scripted:partial,temperature=0.7": ("scripted:partial", 0.7, 120),
    }
    assert list(columns(model=MODELS, max_tools=(8, 2))) == [
        "reference@scripted:gold,max_tools=8",
        "reference@scripted:gold,max_tools=2",
        "reference@scripted:partial,max_tools=8",
        "reference@scripted:partial,max_tools=2",
    ]
    assert list(columns(model=("scripted:gold",))) == ["reference"]


def test_temperatures_that_differ_little_have_cells_of_their_own() -> None:
    assert list(columns(temperature=(1.0, 0.1234567, 0.1234568))) == [
        "reference@temperature=1",
        "reference@temperature=0.1234567",
        "reference@temperature=0.1234568",
    ]


def test_models_whose_endpoints_differ_in_more_than_the_host_have_cells_of_their_own() -> None:
    models = ("a@http://h:1/v1", "b@http://h:2/v1", "b@http://h:2", "b@https://h:2/v1", "c@http://h:3/v1", "c@h:3")
    found = columns(model=models, base_url="http://h:4/v1")
    assert {label: model for label, (model, *_) in found.items()} == {
        "reference@a@h:1": "a@http://h:1/v1",
        "reference@b@h:2": "b@http://h:2/v1",
        "reference@b@http://h:2": "b@http://h:2",
        "reference@b@https://h:2/v1": "b@https://h:2/v1",
        "reference@c@http://h:3/v1": "c@http://h:3/v1",
        "reference@c@h:3": "c@h:3",
    }


def test_a_value_that_is_given_twice_is_one() -> None:
    assert list(columns(model=("scripted:gold", "scripted:gold"), max_tools=(5, 5))) == ["reference"]


LARGE = RunCell(label="reference@x", framework="reference", model="scripted:partial")


def both() -> RunConfig:
    return run_config(*cells_of("reference"), LARGE)


def test_a_run_has_the_settings_of_each_cell() -> None:
    config = both()
    assert config.models == ("scripted:gold", "scripted:partial")
    assert config.settings("reference")["model"] == "scripted:gold"
    assert config.settings("reference@x")["model"] == "scripted:partial"
    assert config.settings("reference@x")["dataset"] == config.dataset


def test_a_cell_is_named_without_its_profile() -> None:
    labels = ("langgraph:native", "langgraph:native@scripted:partial", "reference", "reference@scripted:partial")
    assert meant_labels("langgraph", labels) == ["langgraph:native"]
    assert meant_labels("langgraph@scripted:partial", labels) == ["langgraph:native@scripted:partial"]
    assert meant_labels("reference@scripted:partial", labels) == ["reference@scripted:partial"]
    assert meant_labels("langgraph@other", labels) == []


def test_each_cell_has_the_prices_of_its_model() -> None:
    own, other = (Prices(rates=(TokenRate(input=price, output=price),), source="s") for price in (1, 2))
    run = new_run(both(), "d").model_copy(update={"prices": {"scripted:gold": own, "scripted:partial": other}})
    assert (run.prices_of("reference"), run.prices_of("reference@x")) == (own, other)
    assert Run.model_validate_json(run.model_dump_json()).prices_of("reference@x") == other
    assert run.model_copy(update={"prices": {"scripted:gold": own}}).prices_of("reference@x") is None


def test_a_run_gets_more_models_but_not_others() -> None:
    one, two = run_config(), both()
    assert why_not_extended(one, two) is None
    assert why_not_extended(two, one) == "it has frameworks, tasks or repeats that are not asked for here"
    other = LARGE.model_copy(update={"model_identity": "other weights"})
    changed = two.model_copy(update={"cells": (*cells_of("reference"), other)})
    assert why_not_extended(two, changed) == "the model of reference@x changed since it began"


def test_a_run_of_more_trials_than_fit_into_memory_is_refused() -> None:
    with pytest.raises(
        UsageError, match="this run would have 100,000,000 trials, and one has at most 1,000,000: choose fewer"
    ):
        prepare(RunOptions(limit=1, repeat=10**8))
