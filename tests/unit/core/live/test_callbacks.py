"""Calls that the engine's own process answers."""

from __future__ import annotations

import asyncio
import re
import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from trialbed.contracts import ApiRefused, Simulation, Simulator
from trialbed.live import CallbackServer
from trialbed.records import Api, Failure, Json, Query
from trialbed.tasks import Task, compile_tasks


def double(number: int) -> int:
    """Twice a number."""
    if number == 13:
        raise ApiRefused("an unlucky number")
    return 2 * {0: 0, 1: 1}[number]


class Memory:
    def __init__(self, state: Any) -> None:
        self.kept = [*state]

    def keep(self, text: str) -> int:
        """Keep a text."""
        self.kept.append(text)
        return len(self.kept)

    def state(self) -> Any:
        return self.kept


QUERIES, BODIES, _ = compile_tasks([Task("?", tools=[double, Memory], state=["a"])])


async def ask(
    callbacks: CallbackServer, name: str, trial: str = "one", query: Query = QUERIES[0], **arguments: Any
) -> Any:
    api = next(ref for ref in callbacks.apis(query) if ref.api_name == name)
    assert callbacks.url is not None
    async with httpx.AsyncClient() as client:
        asked = {"trial": trial, "api": api.model_dump(), "arguments": arguments}
        return (await client.post(callbacks.url, json=asked)).json()


async def failure_of(callbacks: CallbackServer, trial: str = "one") -> Failure:
    """Close a trial, and return the failure of its tools."""
    _, failure = await callbacks.close(trial)
    assert failure is not None
    return failure


async def test_what_does_not_fit_or_is_refused_is_an_error_of_the_api() -> None:
    async with CallbackServer(BODIES) as callbacks:
        callbacks.open("one", QUERIES[0])
        assert (await ask(callbacks, "double", number="1"))["error"].startswith(
            "Invalid arguments for double: number: "
        )
        assert (await ask(callbacks, "double"))["error"].startswith("Invalid arguments for double: ")
        assert (await ask(callbacks, "double", number=13))["error"] == "an unlucky number"
        assert (await callbacks.close("one"))[1] is None


class Picky(Simulator):
    """Takes arguments that fit for granted."""

    provenance = "picky"

    async def simulate(self, api: Api | None, ref: str, arguments: dict[str, Json]) -> Simulation:
        return Simulation(response={1: "one"}[arguments["number"]])  # type: ignore[index] # as users write it


async def test_a_simulator_that_fails_on_arguments_that_do_not_fit_is_not_at_fault() -> None:
    async with CallbackServer(simulator=Picky()) as callbacks:
        callbacks.open("one", QUERIES[0])
        assert (await ask(callbacks, "double", number=1))["response"] == "one"
        assert "Invalid arguments for double: " in (await ask(callbacks, "double"))["error"]
        assert (await callbacks.close("one"))[1] is None
        callbacks.open("two", QUERIES[0])
        assert (await ask(callbacks, "double", "two", number=2))["error"].startswith("double raised KeyError: 2 (File ")
        await failure_of(callbacks, "two")


@pytest.fixture
def let_go() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def waiting(let_go: threading.Event, at: str) -> type:
    """A class that waits for ever at one place."""

    class Waiting:
        def __init__(self) -> None:
            if at == "making the tools":
                let_go.wait()

        def use(self) -> str:
            """Use it."""
            return "endless" if at != "use" or let_go.wait() else ""

        def state(self) -> int:
            if at == "state()":
                let_go.wait()
            return 1

    return Waiting


@pytest.mark.parametrize("at", ["making the tools", "use", "state()"])
async def test_objects_that_do_not_return_cost_their_trial_alone(let_go: threading.Event, at: str) -> None:
    queries, bodies, _ = compile_tasks([Task("?", tools=[waiting(let_go, at), double])])
    async with CallbackServer(bodies, seconds=0.2) as callbacks:
        for trial in ("one", "two"):
            callbacks.open(trial, queries[0])
        await ask(callbacks, "use", query=queries[0])
        failure = await failure_of(callbacks)
    assert failure.kind == "tool"
    assert re.search(rf'{re.escape(at)} did not return within 0.2 s \(File "{__file__}", line \d+\)$', failure.message)


async def test_a_function_that_never_returns_is_ended_and_others_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()

    def endless() -> None:
        """Go on."""
        try:
            while True:
                pass
        finally:
            ended.set()

    queries, bodies, _ = compile_tasks([Task("?", tools=[endless, double])])
    async with CallbackServer(bodies, seconds=0.5) as callbacks:
        callbacks.open("one", queries[0])
        asking = (ask(callbacks, "endless", query=queries[0]), ask(callbacks, "double", query=queries[0], number=1))
        stuck, answered = await asyncio.gather(*asking)
        _, failure = await callbacks.close("one")
    assert answered["response"] == 2
    assert "endless did not return within 0.5 s (File " in stuck["error"]
    assert failure is not None
    assert failure.message == stuck["error"]
    assert await asyncio.to_thread(ended.wait, 60), "code in Python is ended"
