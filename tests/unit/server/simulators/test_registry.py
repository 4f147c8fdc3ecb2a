"""Foreign simulators are asked in event loops of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import Any

import pytest

from trialbed.contracts import Simulation, Simulator
from trialbed.foreign_code import StuckCode
from trialbed.model_access import ModelAccess
from trialbed.records import Api, Json, ModelEndpoint
from trialbed_server.simulators.registry import Simulators
from trialbed_server.simulators.template import TemplateSimulator


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
    with pytest.raises(StuckCode, match=r'did not return within 0.2 s \(File ".*test_registry.py", line 2[78]\)'):
        await ask(simulators, simulator, "hold", seconds=0.2)
    with pytest.raises(StuckCode):  # what ran beside it in that loop is lost, and not for 60 s
        await waiting
    assert await ask(simulators, simulator, "say") != own, "it goes on in another thread"
    await simulators.close()


async def test_a_loop_is_given_up_once_whoever_finds_that_it_is_held() -> None:
    simulators, simulator = Simulators(), Foreign()
    first = asyncio.create_task(ask(simulators, simulator, "hold", seconds=0.1))
    second = asyncio.create_task(ask(simulators, simulator, "wait", seconds=0.3))
    with pytest.raises(StuckCode):
        await first
    # It begins in a new loop while the other call still looks at the old one.
    with pytest.raises(TimeoutError):
        await ask(simulators, simulator, "wait", seconds=0.4)
    with pytest.raises(StuckCode):
        await second
    await simulators.close()


async def test_waiting_for_too_long_and_errors_are_as_in_any_loop() -> None:
    simulators, simulator = Simulators(), Foreign()
    with pytest.raises(TimeoutError):
        await ask(simulators, simulator, "wait", seconds=0.05)
    with pytest.raises(KeyError, match="city"):
        await ask(simulators, simulator, "raise")
    await simulators.close()


async def test_its_model_is_asked_by_the_server() -> None:
    simulators, simulator = Simulators(), Foreign()
    endpoint = ModelEndpoint(base_url="http://127.0.0.1:1/v1", model="m", api_key="key")
    simulator.model = Echo(endpoint)
    assert await ask(simulators, simulator, "ask") == threading.current_thread().name
    await simulators.close()


async def test_trialbeds_own_are_asked_at_once() -> None:
    simulators, simulator = Simulators(), TemplateSimulator()
    await simulators.ask(simulator, lambda: simulator.simulate(None, "a/b/c", {}), 60)
    assert not simulators._foreign
