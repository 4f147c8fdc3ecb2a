"""The virtual API over HTTP, and Apis that act on a world of their trial."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any, ClassVar

import pytest
from support.servers import API, REF, TRIAL, Serve, closed, registration, until, virtual

import trialbed_server.simulators.registry
from trialbed.contracts import Simulation, Simulator
from trialbed.drivers import load_driver
from trialbed.records import Api


class Gated(Simulator):
    """Answers when the test lets it."""

    provenance: ClassVar[str] = "gated"
    gate: ClassVar[threading.Event]
    asked: ClassVar[list[Any]]

    async def simulate(self, api: Api | None, ref: str, arguments: dict[str, Any]) -> Simulation:
        self.asked.append(arguments)
        if arguments.get("city") in ("raise", ["raise"]):
            raise KeyError("a bug")
        if arguments.get("city") == "own timeout":
            raise TimeoutError("its database")
        await until(self.gate.is_set)  # in a loop of its own
        if arguments.get("city") == "error":
            return Simulation(error="no such city", response="partly")
        return Simulation(response=f"answer {len(self.asked)}")


@pytest.fixture
def gated(monkeypatch: pytest.MonkeyPatch) -> type[Gated]:
    Gated.gate, Gated.asked = threading.Event(), []
    real = trialbed_server.simulators.registry.load_driver
    monkeypatch.setattr(
        trialbed_server.simulators.registry,
        "load_driver",
        lambda kind, name: Gated if name == "gated" else real(kind, name),
    )
    return Gated


async def test_an_answer_is_made_once_and_then_comes_from_the_cache(serve: Serve) -> None:
    client = await serve()
    assert (await client.post("/control/trials", json=registration())).status_code == 201
    first = await client.post(f"/t/{TRIAL}/virtual", json=virtual())
    second = await client.post(f"/t/{TRIAL}/virtual", json=virtual(json.dumps({"city": "Oslo"})))
    assert first.status_code == 200
    assert first.json() == second.json()
    assert first.json()["error"] == ""
    assert set(first.json()["response"]) == {"temperature", "sky"}
    calls = (await closed(client))["api_calls"]
    assert [call["provenance"] for call in calls] == ["template", "cache:template"]
    assert [call["arguments"] for call in calls] == [{"city": "Oslo"}] * 2
    assert [(call["api"], call["offered"], call["response"]) for call in calls] == [
        (REF, True, first.json()["response"])
    ] * 2


async def test_arguments_that_violate_the_schema_are_an_api_error_and_are_not_cached(serve: Serve) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration())
    replies = [await client.post(f"/t/{TRIAL}/virtual", json=virtual({"city": 5})) for _ in range(2)]
    assert [reply.status_code for reply in replies] == [200, 200]
    assert "city: 5 is not of type 'string'" in replies[0].json()["error"]
    assert [call["provenance"] for call in (await closed(client))["api_calls"]] == ["", ""]


@pytest.mark.parametrize(
    ("city", "error"),
    [
        ("error", "no such city"),
        ("raise", "the simulator failed: KeyError"),
        ("own timeout", "the simulator failed: TimeoutError: its database"),
        ("slow", "no answer within 0.2 seconds"),
    ],
)
async def test_a_failing_simulator_is_an_api_error_for_everyone_and_is_tried_again(
    serve: Serve, gated: type[Gated], city: str, error: str
) -> None:
    client = await serve(simulator="gated", simulator_timeout=0.2 if city == "slow" else 60)
    if city == "error":
        gated.gate.set()
    for attempt in (1, 2):
        replies = await asyncio.gather(*(client.post("/virtual", json=virtual({"city": city})) for _ in range(5)))
        assert all(reply.status_code == 200 for reply in replies)
        assert all(error in reply.json()["error"] for reply in replies)
        assert len(gated.asked) >= attempt
    assert len(gated.asked) >= 2


@pytest.mark.parametrize(("city", "error"), [("raise", "KeyError: 'a bug' (File"), ("slow", "no answer within 0.2 s")])
async def test_a_simulator_that_fails_is_not_the_agents_fault(
    serve: Serve, gated: type[Gated], city: str, error: str
) -> None:
    client = await serve(simulator="gated", simulator_timeout=0.2 if city == "slow" else 60)
    await client.post("/control/trials", json=registration(simulator="gated"))
    for _ in range(2):
        reply = await client.post(f"/t/{TRIAL}/virtual", json=virtual({"city": city}))
        assert "Weather/Weather Now/Current: Gated raised " in reply.json()["error"]
    failure = (await closed(client))["failure"]
    assert failure["kind"] == "tool"
    assert error in failure["message"]
    assert ("in simulate" in failure["detail"]) == (city == "raise")


async def test_an_api_in_another_case_is_not_invented(serve: Serve) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration())
    for names in ({"category": "weather"}, {"category": "WEATHER", "tool_name": "weather_now_for_weather"}):
        reply = await client.post(f"/t/{TRIAL}/virtual", json=virtual(**names))
        assert "did you mean Weather/Weather Now/Current?" in reply.json()["error"]
    other = await client.post(f"/t/{TRIAL}/virtual", json=virtual(api_name="Tomorrow"))
    assert other.json()["error"] == ""


async def test_a_frozen_server_answers_from_the_cache_and_names_the_nearest_inputs(serve: Serve) -> None:
    filled = await serve()
    known = (await filled.post("/virtual", json=virtual({"city": "Oslo", "days": 3}))).json()
    frozen = await serve(simulator="none")
    assert (await frozen.post("/virtual", json=virtual({"days": 3, "city": "Oslo"}))).json() == known
    missed = (await frozen.post("/virtual", json=virtual({"city": "Oslo", "days": 4}))).json()
    assert 'nearest cached inputs: {"city":"Oslo","days":3}' in missed["error"]
    empty = (await frozen.post("/virtual", json=virtual(api_name="Other"))).json()
    assert "no input of this tool is cached" in empty["error"]


async def test_each_trial_has_its_own_simulator(serve: Serve, gated: type[Gated]) -> None:
    client = await serve()
    gated.gate.set()
    await client.post("/control/trials", json=registration())
    await client.post("/control/trials", json=registration(trial="trial-token-2", simulator="gated"))
    template = (await client.post(f"/t/{TRIAL}/virtual", json=virtual())).json()["response"]
    other = (await client.post("/t/trial-token-2/virtual", json=virtual())).json()["response"]
    assert other == "answer 1"
    assert template != other
    again = (await client.post(f"/t/{TRIAL}/virtual", json=virtual())).json()["response"]
    assert again == template


async def test_a_call_in_flight_when_its_trial_closes_is_recorded_as_unanswered(
    serve: Serve, gated: type[Gated]
) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration(simulator="gated"))
    asking = asyncio.ensure_future(client.post(f"/t/{TRIAL}/virtual", json=virtual()))
    await until(lambda: gated.asked)
    (call,) = (await closed(client))["api_calls"]
    assert (call["status"], call["error"], call["provenance"]) == (0, "", "")
    gated.gate.set()
    assert (await asking).json()["response"] == "answer 1"


async def test_an_answer_over_the_limit_is_an_api_error_and_not_kept(serve: Serve) -> None:
    client = await serve(max_answer=1000)
    template = {f"field {number}": "str" for number in range(100)}
    await client.post("/control/trials", json=registration(apis=[{**API, "template_response": template}]))
    for _ in range(2):
        reply = await client.post(f"/t/{TRIAL}/virtual", json=virtual())
        assert "the answer is larger than 1000 bytes" in reply.json()["error"]


SHOP = {"category": "Commerce", "tool_name": "Tarnmere Market Basket"}


def call(api_name: str, **arguments: Any) -> dict[str, Any]:
    return virtual(arguments, **SHOP, api_name=api_name)


async def test_each_trial_has_a_world_of_its_own_whose_answers_are_not_cached(serve: Serve) -> None:
    dataset = load_driver("datasets", "mini")().open("shop", Path())
    apis = [api.model_dump(mode="json") for api in dataset.apis()]
    client = await serve()
    opened = await client.post(
        "/control/trials", json=registration(trial="trial-token-a", apis=apis, simulator="shop", keep=True)
    )
    like = {"trial": "trial-token-b", "setup": opened.json()["setup"]}
    assert (await client.post("/control/trials", json=like)).status_code == 201
    add = call("Add to basket", product="rope", quantity=2)
    counts = [
        (await client.post(f"/t/{trial}/virtual", json=add)).json()["response"]["items"]["rope"]
        for trial in ("trial-token-a", "trial-token-b", "trial-token-a")
    ]
    assert counts == [2, 2, 4]
    refused = await client.post("/t/trial-token-b/virtual", json=call("Add to basket", product="gold", quantity=1))
    assert "no product named 'gold'" in refused.json()["error"]
    invalid = await client.post("/t/trial-token-b/virtual", json=call("Add to basket", product="rope", quantity="two"))
    assert "quantity: 'two' is not of type 'integer'" in invalid.json()["error"]
    first, second = [await closed(client, trial) for trial in ("trial-token-a", "trial-token-b")]
    assert [log["state"]["basket"] for log in (first, second)] == [{"rope": 4}, {"rope": 2}]
    assert [call["provenance"] for call in first["api_calls"]] == ["shop", "shop"]
