"""Classes that depart from their contracts, as their authors write them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest
from support.cases import for_each

from trialbed import Task, evaluate
from trialbed.conformity import CONTRACTS, class_problems
from trialbed.contracts import Executor, Judge, Simulation, Simulator, ToolSelector
from trialbed.drivers import GROUPS, list_drivers, load_driver
from trialbed.errors import DriverBroken, UsageError


class Weather(Simulator):
    provenance: ClassVar[str] = "weather"

    async def simulate(self, api, ref, arguments):  # type: ignore[no-untyped-def]
        return Simulation()


class NotAsync(Simulator):
    def simulate(self, api, ref, arguments):  # type: ignore[no-untyped-def, override]
        return Simulation()


class Abstract(Executor):
    async def describe(self, framework):  # type: ignore[no-untyped-def]
        raise NotImplementedError

    async def execute(self, spec):  # type: ignore[no-untyped-def]
        raise NotImplementedError


class Needy(Weather):
    def __init__(self, city):  # type: ignore[no-untyped-def]
        self.city = city


class Blind(ToolSelector):
    def select(self, query):  # type: ignore[no-untyped-def, override]
        return []


class Unsaid(Judge):
    def judge(self, query, answer, wire):  # type: ignore[no-untyped-def, override]
        return None


@for_each(
    ("given", "contract", "said"),
    [
        (NotAsync, Simulator, "has `def simulate(self, api, ref, arguments)`, and must have `async def simulate("),
        (Abstract, Executor, "Abstract lacks `async def __aexit__(self, kind, error, trace)`"),
        (Needy, Simulator, "has `def __init__(self, city)`, and must have `def __init__(self)`"),
        (Blind, ToolSelector, "has `def select(self, query)`, and must have `def select(self, query, *, max_tools)`"),
        (Unsaid, Judge, "has `def judge(self, query, answer, wire)`, and must have `async def judge(self, "),
    ],
)
def test_each_departure_is_named_with_what_is_expected(given: type, contract: type, said: str) -> None:
    (problem,) = class_problems(given, contract)
    assert said in problem
    assert (f'(File "{__file__}", line ' in problem) == (given is not Abstract)


@for_each("kind", CONTRACTS)
def test_the_drivers_of_trialbed_fit(kind: str) -> None:
    assert set(CONTRACTS) <= set(GROUPS)
    for info in list_drivers(kind):
        if info.distribution == "trialbed":
            load_driver(kind, info.name)


def needs_two(query, answer):  # type: ignore[no-untyped-def]
    return True


OBJECTS: list[tuple[dict[str, Any], str]] = [
    ({"simulator": NotAsync()}, "simulator: NotAsync has `def simulate("),
    ({"simulator": Weather}, "simulator: <class "),
    (
        {"selector": Blind()},
        "selector: Blind has `def select(self, query)`, and must have `def select(self, query, *, ",
    ),
    ({"judge": Unsaid()}, "judge: Unsaid has `def judge(self, query, answer, wire)`, and must have `async def judge("),
    ({"judge": needs_two}, "judge: needs_two(query, answer) must take (query, answer, wire) (File "),
    ({"scorers": [lambda: 1.0]}, "scorers: <lambda>() must take (trial) (File "),
]


@for_each(("given", "said"), OBJECTS, ids=[said.split(" ", 2)[1] for _, said in OBJECTS])
def test_objects_are_checked_before_anything_runs(given: dict[str, Any], said: str) -> None:
    with pytest.raises(UsageError) as raised:
        evaluate(lambda query: "yes", [Task("?", expect="yes")], **given)
    assert str(raised.value).startswith(said)


SOURCE = """
from trialbed.contracts import Executor

class Remote(Executor):
    async def describe(self, framework): ...
    async def execute(self, spec): ...
"""

RECORDS = """
from trialbed.records import Api

Api(reference="a", names=1)
"""


def test_a_misfit_is_named_with_its_distribution(fake_distribution: Callable[..., Path]) -> None:
    fake_distribution(
        "trialbed-remote",
        "0.4",
        entry_points={
            "trialbed.executors": {"remote": "remote_module:Remote"},
            "trialbed.datasets": {"records": "records_module:Driver"},
        },
        modules={"remote_module": SOURCE, "records_module": RECORDS},
    )
    with pytest.raises(DriverBroken) as raised:
        load_driver("executors", "remote")
    said = (
        "executors: 'remote' of trialbed-remote 0.4 names remote_module:Remote, which does not fit its contract: "
        "Remote lacks `async def __aexit__(self, kind, error, trace)`"
    )
    assert str(raised.value) == said
    with pytest.raises(DriverBroken) as raised:
        load_driver("datasets", "records")
    records = str(raised.value)
    assert "ValidationError: Api: " in records
    assert "category: Field required" in records
    assert "https://" not in records
