"""Calls of Apis that act on a world, and worlds that break."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trialbed.contracts import ApiRefused, World
from trialbed.records import Api, Parameter, TrialRegistration
from trialbed_server._clock import SystemClock
from trialbed_server.simulators.template import TemplateSimulator
from trialbed_server.trials import OpenTrial
from trialbed_server.virtual.acting import act
from trialbed_server.virtual.catalog import TargetCatalog

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


@pytest.mark.parametrize(
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


def test_a_state_that_cannot_be_read_is_a_failure_of_the_trial() -> None:
    registration = TrialRegistration(trial="one", model="scripted:gold")
    log = OpenTrial(registration, CATALOG, SystemClock(), Seats()).wire_log()
    assert log.state is None
    assert log.failure is not None
    assert log.failure.message.startswith("Seats.state() raised RuntimeError: the database is gone (File ")
