"""Calls of Apis that act on a world, and worlds that break."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from support.cases import for_each
from support.clocks import SleepingClock

from trialbed.contracts import ApiRefused, Simulator, World
from trialbed.records import Api, Limits, Parameter, TrialRegistration
from trialbed_server.simulators.template import TemplateSimulator
from trialbed_server.targets import TargetCatalog
from trialbed_server.trials import OpenTrial, TrialSetup
from trialbed_server.virtual.resolver import act, act_elsewhere

SEAT = Api(
    category="Trains",
    tool_name="Seats",
    api_name="book",
    required_parameters=(Parameter(name="seat", type="STRING"),),
)
SIMULATOR = TemplateSimulator()
CATALOG = TargetCatalog([(SEAT, SIMULATOR)], SIMULATOR)
TARGET = CATALOG.target("Trains", "Seats", "book")


class Seats(World):
    """Takes every argument as it comes."""

    checked = False

    def call(self, api: Api, arguments: Any) -> Any:
        if arguments["seat"] == "taken":
            raise ApiRefused("the seat is taken")
        return {"1A": "booked", "nan": float("nan")}[arguments["seat"]]

    def state(self) -> Any:
        raise RuntimeError("the database is gone")


@pytest.mark.parametrize(
    ("seat", "cause"), [("2B", "Seats raised KeyError: '2B' (File \""), ("nan", "Seats raised ValueError: ")]
)
def test_a_world_that_breaks_is_at_fault(seat: str, cause: str) -> None:
    answer = act(Seats(), SEAT, TARGET, {"seat": seat})
    assert answer.failure is not None
    assert answer.failure.kind == "tool"
    assert answer.failure.message.startswith(f"Trains/Seats/book: {cause}")
    assert json.loads(answer.body) == {"error": answer.failure.message, "response": ""}
    assert answer.failure.detail.startswith("Traceback")


@for_each(
    ("arguments", "error"),
    [
        ({"seat": "taken"}, "the seat is taken"),
        ({}, "Invalid arguments for Trains/Seats/book: 'seat' is a required property"),
        ({"seat": []}, "Invalid arguments for Trains/Seats/book: seat: [] is not of type 'string'"),
        ([], "Trains/Seats/book: tool_input must be a JSON object, this is a list"),
    ],
)
def test_what_a_world_refuses_and_what_does_not_fit_are_answers(arguments: Any, error: str) -> None:
    answer = act(Seats(), SEAT, TARGET, arguments)
    assert (json.loads(answer.body)["error"], answer.failure) == (error, None)


async def test_a_state_that_cannot_be_read_is_a_failure_of_the_trial() -> None:
    registration = TrialRegistration(trial="one", model="scripted:gold")
    trial = OpenTrial(registration, CATALOG, SleepingClock(), Seats())
    await trial.end_world()
    log = trial.wire_log()
    assert log.state is None
    assert log.failure is not None
    assert log.failure.message.startswith("Seats.state() raised RuntimeError: the database is gone (File ")


class Waiting(TemplateSimulator):
    """Makes worlds that return when they are let go, if ever."""

    def __init__(self, let_go: threading.Event, at: str) -> None:
        super().__init__()
        self.wait = lambda place: let_go.wait() if place == at else None

    def world_from(self, state: Any) -> World:
        simulator = self
        self.wait("making")

        class Hotel(World):
            def call(self, api: Api, arguments: Any) -> Any:
                if arguments["seat"] == "endless":
                    simulator.wait("call")
                self.seat = arguments["seat"]
                return self.seat

            def state(self) -> Any:
                simulator.wait("state")
                return {"seat": self.seat}

        return Hotel()


@pytest.fixture
def let_go() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def opened(simulator: Simulator, seconds: float = 0.2) -> OpenTrial:
    registration = TrialRegistration(trial="one", model="scripted:gold", limits=Limits(timeout=seconds))
    return TrialSetup(registration, CATALOG, simulator).trial(registration, SleepingClock())


async def test_a_foreign_world_answers_from_a_thread_of_its_own() -> None:
    trial = opened(Waiting(threading.Event(), "nowhere"), seconds=600)
    assert trial.hosted is not None
    answer = await act_elsewhere(trial.hosted, TARGET, {"seat": "1A"})
    assert answer is not None
    assert json.loads(answer.body) == {"error": "", "response": "1A"}
    unknown = CATALOG.target("No", "such", "api")
    assert await act_elsewhere(trial.hosted, unknown, {}) is None
    await trial.end_world()
    assert (trial.wire_log().state, trial.wire_log().failure) == ({"seat": "1A"}, None)


@pytest.mark.parametrize("at", ["making", "call"])
async def test_a_foreign_world_that_does_not_return_costs_its_trial_alone(let_go: threading.Event, at: str) -> None:
    trial, other = opened(Waiting(let_go, at)), opened(Waiting(let_go, "nowhere"), seconds=600)
    assert trial.hosted is not None
    assert other.hosted is not None
    stuck, answered = await asyncio.gather(
        act_elsewhere(trial.hosted, TARGET, {"seat": "endless"}), act_elsewhere(other.hosted, TARGET, {"seat": "1A"})
    )
    assert answered is not None
    assert json.loads(answered.body)["response"] == "1A"
    assert stuck is not None
    assert stuck.failure is not None
    assert stuck.failure.kind == "tool"
    assert re.search(rf' did not return within 0.2 s \(File "{__file__}", line \d+\)$', stuck.failure.message)
    trial.note_failure(stuck.failure)
    await trial.end_world()
    assert trial.wire_log().failure == stuck.failure
