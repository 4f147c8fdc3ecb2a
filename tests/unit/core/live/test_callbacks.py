"""Calls that the engine's own process answers."""

from __future__ import annotations

import asyncio
import json
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


async def test_functions_answer_and_what_they_leave_is_the_trials_own() -> None:
    async with CallbackServer(BODIES) as callbacks:
        for trial in ("one", "two"):
            callbacks.open(trial, QUERIES[0])
        assert await ask(callbacks, "double", number=1) == {"error": "", "response": 2, "provenance": "function"}
        assert (await ask(callbacks, "keep", text="b"))["response"] == 2
        assert (await ask(callbacks, "keep", "two", text="c"))["response"] == 2
        assert await callbacks.close("one") == (["a", "b"], None)
        assert await callbacks.close("two") == (["a", "c"], None)
        assert (await ask(callbacks, "double", number=1))["error"] == "this trial is closed"
    assert QUERIES[0].initial_state == ["a"]


async def test_what_does_not_fit_or_is_refused_is_an_error_of_the_api() -> None:
    async with CallbackServer(BODIES) as callbacks:
        callbacks.open("one", QUERIES[0])
        assert (await ask(callbacks, "double", number="1"))["error"].startswith(
            "Invalid arguments for double: number: "
        )
        assert (await ask(callbacks, "double"))["error"].startswith("Invalid arguments for double: ")
        assert (await ask(callbacks, "double", number=13))["error"] == "an unlucky number"
        assert (await callbacks.close("one"))[1] is None


async def test_the_first_exception_of_a_function_is_kept_with_its_traceback() -> None:
    async with CallbackServer(BODIES) as callbacks:
        callbacks.open("one", QUERIES[0])
        for number in (5, 6):
            await ask(callbacks, "double", number=number)
        failure = await failure_of(callbacks)
    line = double.__code__.co_firstlineno + 4
    assert (failure.kind, failure.message) == ("tool", f'double raised KeyError: 5 (File "{__file__}", line {line})')
    assert "in double" in failure.detail


async def test_tools_that_cannot_be_made_are_the_trials_failure() -> None:
    class Broken:
        def __init__(self) -> None:
            raise OSError("no database")

        def use(self) -> None:
            """Use it."""

    queries, bodies, _ = compile_tasks([Task("?", tools=Broken)])
    async with CallbackServer(bodies) as callbacks:
        callbacks.open("one", queries[0])
        failure = await failure_of(callbacks)
    assert failure.message.startswith("making the tools raised OSError: no database (File ")


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


async def test_an_async_function_that_is_late_has_raised_nothing() -> None:
    async def wait() -> None:
        """Wait."""
        await asyncio.Event().wait()

    queries, bodies, _ = compile_tasks([Task("?", tools=[wait])])
    async with CallbackServer(bodies, seconds=0.05) as callbacks:
        callbacks.open("one", queries[0])
        await ask(callbacks, "wait", query=queries[0])
        failure = await failure_of(callbacks)
    assert failure.message == "wait did not return within 0.05 s"


class Held:
    """Answers for all Apis, and notes what of it is ended."""

    provenance, has_to_end, code = "held", True, None

    def __init__(self, *, checked: bool = True) -> None:
        self.owner = self
        self.checked = checked
        self.ended: list[str] = []

    def source(self) -> str:
        return "held"

    def make_owner(self, state: Any) -> str:
        return json.dumps(state)

    async def end_trial(self, owner: str) -> None:
        self.ended.append(owner)

    async def end_run(self) -> None:
        self.ended.append("run")

    async def call(self, arguments: Any, owner: str, run: Any) -> Any:
        return owner


@pytest.mark.parametrize(("checked", "error"), [(True, "Invalid arguments for double"), (False, "")])
async def test_tools_that_check_their_arguments_get_all(*, checked: bool, error: str) -> None:
    async with CallbackServer(dict.fromkeys(BODIES, Held(checked=checked))) as callbacks:
        callbacks.open("one", QUERIES[0])
        assert (await ask(callbacks, "double", number="two"))["error"].startswith(error)


@pytest.mark.parametrize("closes", [False, True])
async def test_a_trial_that_is_not_closed_in_full_is_ended_with_the_run(
    monkeypatch: pytest.MonkeyPatch, *, closes: bool
) -> None:
    held, reading = Held(), asyncio.Event()

    async def read_state(_: Any) -> None:
        reading.set()
        await asyncio.Event().wait()

    monkeypatch.setattr("trialbed.live._callbacks._CalledTrial._read_state", read_state)
    async with CallbackServer(dict.fromkeys(BODIES, held)) as callbacks:
        callbacks.open("one", QUERIES[0])
        assert (await ask(callbacks, "double", number=1))["response"] == '["a"]'
        if closes:
            closing = asyncio.create_task(callbacks.close("one"))
            await reading.wait()
            closing.cancel()
            await asyncio.wait([closing])
            assert held.ended == ['["a"]']
    assert held.ended[:1] == ['["a"]']
    assert held.ended[-1] == "run"
