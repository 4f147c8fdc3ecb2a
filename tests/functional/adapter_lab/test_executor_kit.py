"""The kit for executors, with real workers: the local one conforms, and each defect fails the check about it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest
from support.cases import for_each
from support.nodes import NodesExecutor
from support.warm import warm_programs

from trialbed.contracts import Executor, LostTrial, Node
from trialbed.records import Failure, Outcome
from trialbed_adapter_lab.plugin_kit import PluginSubject, check_plugin
from trialbed_plugins.executors.local import LocalExecutor

pytestmark = pytest.mark.slow(20)


@pytest.fixture(autouse=True)
def quick_start() -> Iterator[None]:
    with warm_programs():
        yield


def failed(executor: type[Executor], *only: str) -> list[str]:
    report = check_plugin(PluginSubject("executors", "mine", executor), only)
    return [finding.check for finding in report.problems]


class NeverFirst(LocalExecutor):
    async def execute(self, spec: Any) -> Any:
        return (await super().execute(spec)).model_copy(update={"first": False})


class IgnoresFresh(LocalExecutor):
    async def execute(self, spec: Any) -> Any:
        return await super().execute(spec.model_copy(update={"fresh": False}))


class Raises(LocalExecutor):
    async def execute(self, spec: Any) -> Any:
        outcome = await super().execute(spec)
        if outcome.failure:
            raise RuntimeError(outcome.failure.message)
        return outcome


class CallsAllCrashes(LocalExecutor):
    async def execute(self, spec: Any) -> Any:
        outcome = await super().execute(spec)
        failure = outcome.failure and outcome.failure.model_copy(update={"kind": "crash"})
        return outcome.model_copy(update={"failure": failure})


class OtherLabel(LocalExecutor):
    async def describe(self, framework: str, node: str = "") -> Any:
        return (await super().describe(framework, node)).model_copy(update={"name": "worker"})


class TakesAnyOption(LocalExecutor):
    @classmethod
    def check_options(cls, options: Any) -> None: ...


class OneName(NodesExecutor):
    def nodes(self) -> Any:
        return tuple(replace(node, name="east") for node in super().nodes())


class RunsAnywhere(NodesExecutor):
    def accept(self, node: str) -> None:
        self.accepted = {*self.capacities}


class AsksForNoLeave(NodesExecutor):
    """Takes the first free place, whatever is accepted."""

    async def execute(self, spec: Any) -> Any:
        free = [name for name, room in self.capacities.items() if room > self._busy[name]]
        self.accepted = {(free or [*self.capacities])[0]}
        return await super().execute(spec)


class UsesRefusedNodes(NodesExecutor):
    def refuse(self, node: str) -> None: ...


class SaysNoNode(NodesExecutor):
    async def execute(self, spec: Any) -> Any:
        outcome = await super().execute(spec)
        return outcome.model_copy(update={"node": ""})


class BlamesTheFramework(NodesExecutor):
    async def execute(self, spec: Any) -> Any:
        found = await super().execute(spec)
        if not isinstance(found, LostTrial):
            return found
        failure = Failure(kind="crash", message="the worker died")
        return Outcome(started_at=datetime.now(UTC), wall_time=0.0, failure=failure)


class KeepsLostNodes(NodesExecutor):
    def nodes(self) -> Any:
        return (Node("east", 1), Node("west", 2))


class LeavesProcess(LocalExecutor):
    left: ClassVar[list[subprocess.Popen[bytes]]] = []

    async def describe(self, framework: str, node: str = "") -> Any:
        started = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)  # noqa: ASYNC220 - to stay
        self.left.append(started)
        return await super().describe(framework, node)


def test_the_local_executor_conforms() -> None:
    assert failed(LocalExecutor) == []


def test_an_executor_of_nodes_conforms() -> None:
    report = check_plugin(PluginSubject("executors", "mine", NodesExecutor))
    assert [(finding.check, finding.outcome) for finding in report.findings if finding.outcome != "passed"] == []


@for_each(
    "executor, name",
    [
        (NeverFirst, "answers_come_with_their_circumstances"),
        (IgnoresFresh, "answers_come_with_their_circumstances"),
        (Raises, "a_trial_that_breaks_costs_itself_alone"),
        (CallsAllCrashes, "a_trial_that_breaks_costs_itself_alone"),
        (OtherLabel, "frameworks_are_described"),
        (TakesAnyOption, "unknown_options_are_refused"),
        (OneName, "nodes_have_names_and_room"),
        (RunsAnywhere, "trials_run_on_accepted_nodes"),
        (AsksForNoLeave, "trials_run_on_accepted_nodes"),
        (UsesRefusedNodes, "refused_nodes_run_no_further_trials"),
        (SaysNoNode, "trials_run_on_accepted_nodes"),
        (BlamesTheFramework, "a_lost_node_costs_a_trial_nothing"),
        (KeepsLostNodes, "a_lost_node_costs_a_trial_nothing"),
    ],
)
def test_each_defect_of_an_executor_is_named(executor: type[Executor], name: str) -> None:
    assert failed(executor, name) == [name]


def test_a_process_that_stays_is_named() -> None:
    try:
        assert failed(LeavesProcess, "nothing_stays_behind") == ["nothing_stays_behind"]
    finally:
        for process in LeavesProcess.left:
            process.communicate(b"\n", timeout=60)
