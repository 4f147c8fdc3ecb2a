"""A run on several nodes, some of which are lost: every trial is measured once, and what was lost is told."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.differences import differences
from support.given_executor import given_executor
from support.nodes import NodesExecutor
from support.warm import warm_programs

from trialbed.contracts import Executor
from trialbed.engine import RunProgress
from trialbed.errors import DriverError
from trialbed.preparation import RunOptions
from trialbed.records import TrialKey
from trialbed.report import Report, legacy_documents
from trialbed.run_report import run_and_report
from trialbed.store import Store
from trialbed_plugins.executors.local import LocalExecutor


class Notes(RunProgress):
    """What the user is told."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def note(self, text: str) -> None:
        self.said.append(text)


@pytest.fixture(autouse=True)
def quick_start() -> Iterator[None]:
    with warm_programs():
        yield


def run(folder: Path, executor: Executor, store: str = "", repeat: int = 3) -> tuple[Report, list[str]]:
    options = RunOptions(
        frameworks=("reference",),
        model=("scripted:gold",),
        limit=4,
        repeat=repeat,
        concurrency=4,
        store=store or str(folder / "trialbed.db"),
        output=folder / "results",
        response_cache=folder / "responses.db",
    )
    notes = Notes()
    with given_executor(executor, folder / "driver") as name:
        report = asyncio.run(run_and_report(replace(options, executor=name), progress=notes))
    return report, notes.said


def measured(folder: Path, report: Report) -> Counter[TrialKey]:
    with Store.open(str(folder / "trialbed.db")) as store:
        attempts = list(store.each_attempt(report.run.run_id))
    return Counter(attempt.key for attempt in attempts if attempt.status != "not measured")


def test_every_trial_is_measured_once_whichever_nodes_are_lost(tmp_path: Path) -> None:
    """Six nodes are lost, each at a random moment, and another one joins each time."""
    repeat = 5
    moments = random.sample(range(1, 4 * repeat), 6)

    def begin(executor: NodesExecutor, number: int) -> None:
        if number in moments:
            executor.end(random.choice([*executor.capacities]))
            executor.capacities[f"node-{number}"] = 2

    executor = NodesExecutor(on_begin=begin)
    report, said = run(tmp_path, executor, repeat=repeat)
    moments.clear()
    while report.run.status != "finished":  # a trial that is lost five times is left for the next session
        report, _ = run(tmp_path, NodesExecutor(), repeat=repeat)
    found = measured(tmp_path, report)
    assert sum(report.run.lost.values()) > 0, said
    assert legacy_documents(report)[0]["metadata"]["lost_trials"] == report.run.lost
    assert any(line.endswith(" was lost: its plug was pulled; its trials run again") for line in said)
    assert executor.ran.keys() - {"east", "west"}, "nodes that joined are used"
    assert not report.frameworks[0].incomplete
    assert (len(found), set(found.values())) == (4 * repeat, {1})


def test_documents_of_nodes_are_those_of_one_machine_on_either_store(tmp_path: Path, postgres_url: str) -> None:
    found = []
    for executor, store in ((LocalExecutor(), ""), (NodesExecutor(), postgres_url)):
        folder = tmp_path / executor.__class__.__name__
        report, _ = run(folder, executor, store, repeat=1)
        found.append(legacy_documents(report))
    assert [*differences(*found)] == []


def test_a_run_goes_on_with_what_it_began_with_alone(tmp_path: Path) -> None:
    def begin(executor: NodesExecutor, number: int) -> None:
        if number == 6:
            executor.capacities.clear()

    report, _ = run(tmp_path, NodesExecutor(on_begin=begin))
    other, more = NodesExecutor(), NodesExecutor()
    other.changed = {"packages": ("pydantic==0.0.1",)}
    with pytest.raises(DriverError, match=r"reference: packages pydantic==.* and pydantic==0\.0\.1; restore it"):
        run(tmp_path, other)
    more.changed = {"packages": ("of-these-nodes-alone==1",), "sandbox": ("seccomp",)}
    again, _ = run(tmp_path, more)
    assert (again.run.run_id, again.run.status) == (report.run.run_id, "finished")
