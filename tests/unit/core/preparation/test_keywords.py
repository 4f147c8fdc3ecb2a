"""Settings as keyword arguments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each

from trialbed.errors import UsageError
from trialbed.preparation import read_keywords
from trialbed.records import FaultPlan, ToolFaults


def evaluate(agents: Any, *, model: Any = None, scorers: Any = (), judge: Any = None, **settings: Any) -> None:
    """The function whose settings are read."""


def read(**given: Any) -> dict[str, Any]:
    return read_keywords(given, evaluate, ("model", "judge"))


def test_values_are_as_the_options_have_them() -> None:
    assert read(repeat=2, temperature=0, base_url=None) == {"repeat": 2, "temperature": (0.0,), "base_url": None}
    assert read(output="results", store="x.db") == {"output": Path("results"), "store": "x.db"}
    assert read(query_ids=[1, "b"], tags="one") == {"query_ids": ("1", "b"), "tags": ("one",)}
    assert read(fresh=True, gold_answers=False) == {"fresh": True, "gold_answers": False}


def test_records_and_mappings_stand_for_their_json() -> None:
    plan = FaultPlan(tools=ToolFaults(rate=0.5))
    assert json.loads(read(faults={"tools": {"rate": 0.5}})["faults"]) == {"tools": {"rate": 0.5}}
    assert FaultPlan.model_validate_json(read(faults=plan)["faults"]) == plan


@for_each(
    ("given", "says"),
    [
        ({"repat": 2}, r"evaluate: unknown setting 'repat'; did you mean 'repeat'\? Known are .*, timeout"),
        ({"frameworks_": 1}, "did you mean 'frameworks'"),
        ({"modle": "m"}, r"unknown setting 'modle'; did you mean 'model'\? Known are .*, scorers, .*, timeout"),
        ({"judg": "m"}, r"did you mean 'judge'\?"),
        ({"scorer": "m"}, r"did you mean 'scorers'\?"),
        ({"repeat": 0}, "evaluate: repeat=0: Input should be greater than or equal to 1"),
        ({"timeout": "soon"}, "evaluate: timeout='soon': Input should be a valid number"),
    ],
)
def test_what_is_no_setting_is_named(given: dict[str, Any], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        read(**given)
