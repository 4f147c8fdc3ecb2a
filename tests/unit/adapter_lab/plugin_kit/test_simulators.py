"""Simulators under the kit: a right one conforms, and each deliberate defect fails the check that is about it."""

from __future__ import annotations

import random
import time
from typing import Any, ClassVar

import pytest
from support.cases import for_each
from support.checked_plugins import COUNT, check, failed

from trialbed import Api
from trialbed.contracts import (
    Simulation,
    Simulator,
    World,
)
from trialbed_adapter_lab.plugin_kit import PluginSubject, _check, check_plugin


class RightSimulator(Simulator):
    provenance = "mine"

    async def simulate(self, api: Any, ref: str, arguments: dict[str, Any]) -> Simulation:
        return Simulation(response={"of": ref, "for": arguments})


class RaisingSimulator(RightSimulator):
    async def simulate(self, api: Any, ref: str, arguments: dict[str, Any]) -> Simulation:
        raise KeyError(ref)


class TextSimulator(RightSimulator):
    async def simulate(self, api: Any, ref: str, arguments: dict[str, Any]) -> Any:
        return "text"


class DrawingSimulator(RightSimulator):
    async def simulate(self, api: Any, ref: str, arguments: dict[str, Any]) -> Simulation:
        return Simulation(response=random.random())


class CountingSimulator(RightSimulator):
    count = 0

    async def simulate(self, api: Any, ref: str, arguments: dict[str, Any]) -> Simulation:
        self.count += 1
        return Simulation(response=self.count)


class EatingSimulator(RightSimulator):
    async def simulate(self, api: Any, ref: str, arguments: dict[str, Any]) -> Simulation:
        return Simulation(response=[arguments.popitem() for _ in [*arguments]])


class NamelessSimulator(RightSimulator):
    provenance = ""


class ChangingRevision(RightSimulator):
    def revision(self, api: Any) -> str:
        return str(next(COUNT))


class SharedWorld(World):
    def __init__(self, done: list[str]) -> None:
        self.done = done

    def call(self, api: Api, arguments: Any) -> Any:
        self.done.append(api.ref.title)
        return "done"

    def state(self) -> Any:
        return [*self.done]


class SharingSimulator(RightSimulator):
    done: ClassVar[list[str]] = []

    def world(self) -> World:
        return SharedWorld(self.done)


class HeldSimulator(RightSimulator):
    async def simulate(self, api: Any, ref: str, arguments: dict[str, Any]) -> Simulation:
        while "nobody" in arguments:
            time.sleep(0.01)  # noqa: ASYNC251 - the loop is held
        return await super().simulate(api, ref, arguments)


def test_a_right_simulator_conforms() -> None:
    assert check("simulators", RightSimulator) == {}


@for_each(
    "simulator, name",
    [
        (RaisingSimulator, "fitting_calls_are_answered"),
        (TextSimulator, "fitting_calls_are_answered"),
        (HeldSimulator, "wrong_calls_end"),
        (DrawingSimulator, "equal_calls_are_answered_equally"),
        (CountingSimulator, "calls_side_by_side_are_answered_alike"),
        (CountingSimulator, "a_call_that_is_cancelled_costs_no_other"),
        (EatingSimulator, "arguments_stay_as_they_are"),
        (NamelessSimulator, "what_marks_its_answers_is_constant"),
        (ChangingRevision, "what_marks_its_answers_is_constant"),
        (SharingSimulator, "worlds_share_nothing"),
    ],
)
def test_each_defect_of_a_simulator_is_named(
    monkeypatch: pytest.MonkeyPatch, simulator: type[Simulator], name: str
) -> None:
    monkeypatch.setattr(_check, "SECONDS", 0.5)
    assert name in check("simulators", simulator, name)


def test_what_cannot_be_checked_is_no_failure_and_says_so() -> None:
    report = check_plugin(PluginSubject("simulators", "mine", RightSimulator), ["worlds_share_nothing"])
    assert report.ok
    assert [finding.message for finding in report.findings] == ["not tried: its Apis change nothing"]


def test_the_subject_is_called_within_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_check, "SECONDS", 0.3)
    held = PluginSubject("simulators", "mine", HeldSimulator)
    report = check_plugin(held, ["wrong_calls_end"])
    assert f'did not return within 0.3 s (File "{__file__}", line ' in failed(report)["wrong_calls_end"]
