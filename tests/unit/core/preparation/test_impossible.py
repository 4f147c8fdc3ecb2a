"""Expected calls that no agent can make are named before a run starts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each

from trialbed import Dataset
from trialbed.preparation import RunObjects, RunOptions, prepare
from trialbed.records import Api, GoldCall, Parameter, Query

TRACK = Api(
    category="Parcels",
    tool_name="Post",
    api_name="track",
    required_parameters=(Parameter(name="number"),),
    optional_parameters=(Parameter(name="day"),),
)


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIALBED_STATE_DIR", str(tmp_path / "state"))


class Parcels(Dataset):
    name = test_set = "parcels"

    def __init__(self, arguments: dict[str, Any] | None, api: Api) -> None:
        self._calls = (GoldCall(api=api.ref, arguments=arguments),)
        self._api = api

    def queries(self) -> Sequence[Query]:
        return [Query(query_id="where", text="Where is it?", apis=(self._api,), gold_calls=self._calls)]


def notes(arguments: dict[str, Any] | None, tmp_path: Path, api: Api = TRACK) -> tuple[str, ...]:
    options = RunOptions(store=str(tmp_path / "t.db"), response_cache=str(tmp_path / "c.db"))
    return prepare(options, RunObjects(dataset=Parcels(arguments, api))).notes


@for_each(
    ("arguments", "said"),
    [
        ({"number": "P-1", "parcel": "P-1"}, "has 'parcel', which the tool lacks"),
        ({"day": "today"}, "lacks 'number', which the tool requires"),
        ({}, "lacks 'number', which the tool requires"),
    ],
)
def test_arguments_that_its_api_does_not_take_are_the_datasets_fault(
    arguments: dict[str, Any], said: str, tmp_path: Path
) -> None:
    told = f"task where: its expected call of track {said}: no agent can be right"
    assert notes(arguments, tmp_path) == (told,)


@for_each("arguments", [None, {"number": "P-1"}, {"number": "P-1", "day": "today"}])
def test_arguments_that_its_api_takes_or_that_are_left_open_are_not(
    arguments: dict[str, Any] | None, tmp_path: Path
) -> None:
    assert notes(arguments, tmp_path) == ()


def test_a_schema_may_take_arguments_of_any_name(tmp_path: Path) -> None:
    open_api = TRACK.model_copy(update={"json_schema": {"type": "object", "additionalProperties": True}})
    assert notes({"parcel": "P-1"}, tmp_path, open_api) == ()
