"""Answers made from templates, and foreign simulators, which are asked in event loops of their own."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from trialbed.contracts import Simulation, Simulator
from trialbed.evidence import evidence_values
from trialbed.foreign_code import StuckCode
from trialbed.model_access import ModelAccess
from trialbed.records import Api, Json, ModelEndpoint, Parameter
from trialbed_server.simulators.registry import Simulators
from trialbed_server.simulators.template import TemplateSimulator

CITY = Parameter(name="city")
DAYS = Parameter(name="days", type="NUMBER")


def api(template: Any = None, **fields: Any) -> Api:
    return Api(category="Data", tool_name="Tool", api_name="Api", template_response=template, **fields)


async def response(api: Api | None, ref: str = "Data/Tool/Api", **arguments: Any) -> Any:
    simulation = await TemplateSimulator().simulate(api, ref, arguments)
    assert simulation.error == ""
    return simulation.response


async def test_leaves_become_values_of_their_type() -> None:
    made = await response(
        api({"s": "str", "i": "int", "f": "float", "b": "bool", "n": "NoneType", "e": "empty list", "d": {}, "x": 5})
    )
    kinds = {key: type(value) for key, value in made.items()}
    assert kinds == {"s": str, "i": int, "f": float, "b": bool, "n": type(None), "e": list, "d": dict, "x": int}
    assert made["x"] == 5


@pytest.mark.parametrize(
    ("template", "length"),
    [
        ([{"a": "str", "_list_length": 2}], 2),
        ([{"a": "str", "_list_length": 872}], 3),
        ([{"a": "str"}], 1),
        (["list of str with length 2"], 2),
        ("list of float with length 6387", 3),
        ('[{"a": "str", "_list_length": 2}]', 2),
    ],
)
async def test_lists_have_the_stated_length_up_to_a_bound(template: Any, length: int) -> None:
    made = await response(api(template))
    assert len(made) == length
    assert "_list_length" not in json.dumps(made)


@pytest.mark.parametrize(
    "template",
    [None, "", "How are you", '{"cut": "st', {}, [], {"ok": "bool"}, ["bool"], "5", {"a": {"_list_length": 3}},
     {"a": None}, {"_list_length": 4}, [["str", "int"], []], {"a": ["list of list with length 1"]},
     [{"b": "bool", "_list_length": "x"}]],
)  # fmt: skip
async def test_every_answer_has_evidence_that_depends_on_api_and_arguments(template: Any) -> None:
    described = api(template, description="Finds the weather.")
    made = [
        evidence_values(await response(described, city="Oslo")),
        evidence_values(await response(described, city="Rome")),
        evidence_values(await response(described, ref="Data/Tool/Other", city="Oslo")),
    ]
    assert all(made)
    assert not set(made[0]) & set(made[1])
    assert not set(made[0]) & set(made[2])


async def test_the_same_call_gives_the_same_answer_whatever_the_order() -> None:
    described = api({"a": "str", "b": ["int"]})
    assert await response(described, x=1, y=2) == await response(described, y=2, x=1)
    assert await response(described, x=1) != await response(described, x="1")


async def test_arguments_are_checked_against_the_schema() -> None:
    strict = api(required_parameters=(CITY,), optional_parameters=(DAYS,))
    simulation = await TemplateSimulator().simulate(strict, "Data/Tool/Api", {"days": "three"})
    assert "'city' is a required property" in simulation.error
    assert "days: 'three' is not of type 'number'" in simulation.error
    assert simulation.error.startswith("Invalid arguments for Data/Tool/Api")


def real_queries(folder: Path) -> list[Any]:
    files = sorted(folder.glob("solvable_queries/test_instruction/*.json"))
    return [query for file in files for query in json.loads(file.read_text())]


async def test_every_api_of_the_real_data_is_answered_with_evidence_of_bounded_size(stabletoolbench_dir: Path) -> None:
    simulator = TemplateSimulator()
    rows = {
        (row["category_name"], row["tool_name"], row["api_name"]): row
        for query in real_queries(stabletoolbench_dir)
        for row in query["api_list"]
    }
    assert len(rows) > 1000
    for seen, ((category, tool_name, api_name), row) in enumerate(rows.items()):
        found = Api(
            category=category,
            tool_name=tool_name,
            api_name=api_name,
            description=row["api_description"],
            template_response=row.get("template_response"),
        )
        simulation = await simulator.simulate(found, "ref", {"q": seen})
        assert evidence_values(simulation.response), api_name
        assert len(json.dumps(simulation.response)) < 200_000, api_name


@pytest.mark.parametrize(
    ("kind", "default"), [("NUMBER", "ten"), ("STRING", 10), ("NUMBER", True), ("ENUM", "none of them")]
)
async def test_a_documented_default_fits_whatever_its_type(kind: str, default: Any) -> None:
    odd = api(required_parameters=(Parameter(name="limit", type=kind, default=default),))
    assert (await TemplateSimulator().simulate(odd, "Data/Tool/Api", {"limit": default})).error == ""
    for other in ([], {"limit": default}):
        assert "limit: " in (await TemplateSimulator().simulate(odd, "Data/Tool/Api", {"limit": other})).error


class Foreign(Simulator):
    """Holds its event loop, waits in it, or asks its model."""

    provenance = "foreign"

    async def simulate(self, api: Api | None, ref: str, arguments: dict[str, Json]) -> Simulation:
        if ref == "hold":
            while True:
                pass
        if ref == "wait":
            await asyncio.Event().wait()
        if ref == "ask":
            assert self.model is not None
            return Simulation(response=await self.model.ask([{"role": "user", "content": "Hello"}]))
        if ref == "raise":
            raise KeyError("city")
        return Simulation(response=threading.current_thread().name)


class Echo(ModelAccess):
    """Says in which thread its requests are sent."""

    async def reply(self, request: dict[str, Any], schema: Mapping[str, Any] | None) -> str:
        return threading.current_thread().name


async def ask(simulators: Simulators, simulator: Simulator, ref: str, seconds: float = 60.0) -> Json:
    return (await simulators.ask(simulator, lambda: simulator.simulate(None, ref, {}), seconds)).response


async def test_one_that_holds_its_event_loop_holds_up_nobody_else() -> None:
    simulators, simulator = Simulators(), Foreign()
    own = threading.current_thread().name
    assert await ask(simulators, simulator, "say") != own
    waiting = asyncio.create_task(ask(simulators, simulator, "wait"))
    with pytest.raises(StuckCode, match=r'did not return within 0.2 s \(File ".*test_template.py", line \d+\)'):
        await ask(simulators, simulator, "hold", seconds=0.2)
    with pytest.raises(StuckCode):  # what ran beside it in that loop is lost, and not for 60 s
        await waiting
    assert await ask(simulators, simulator, "say") != own, "it goes on in another thread"
    await simulators.close()


async def test_its_model_is_asked_by_the_server() -> None:
    simulators, simulator = Simulators(), Foreign()
    endpoint = ModelEndpoint(base_url="http://127.0.0.1:1/v1", model="m", api_key="key")
    simulator.model = Echo(endpoint)
    assert await ask(simulators, simulator, "ask") == threading.current_thread().name
    await simulators.close()
