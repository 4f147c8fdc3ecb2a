"""Runs that are killed at random moments, and started twice at once: each trial is there once."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.warm import Program, run_warm, started_warm

from trialbed import open_store
from trialbed_scripted import ModelTurn, ReceivedRequest, say, serve

KILLS = 2
"""Kills of runs."""
LIMIT = 3
REFUSED = 2
"""The exit code of a start whose run is under way in another process."""


@dataclass(frozen=True)
class Machine:
    """Where runs are started, and which store they share."""

    folder: Path
    environment: dict[str, str]
    store: str

    def command(self, *arguments: object) -> list[str]:
        """``bench run`` with these arguments."""
        return [*map(str, ("run", "--limit", LIMIT, "-j", 2, "--store", self.store, *arguments))]

    def started(self, *arguments: object) -> AbstractContextManager[Program]:
        """A run in a session of its own, which is killed with all that it started."""
        return started_warm(
            "trialbed", self.command(*arguments), cwd=self.folder, env=self.environment, own_session=True
        )

    def finish(self, *arguments: object) -> dict[str, Any]:
        """Run the rest; the document. PostgreSQL notices the end of a process a moment later."""
        while True:
            command = self.command(*arguments, "--json")
            done = run_warm("trialbed", command, cwd=self.folder, env=self.environment, timeout=600)
            if done.returncode != REFUSED:
                assert done.returncode == 0, done.stderr
                (document,) = json.loads(done.stdout)
                return document
            assert "in another process" in done.stderr


@pytest.fixture(params=["sqlite", "postgresql"])
def machine(request: pytest.FixtureRequest, tmp_path: Path, bench_environment: dict[str, str]) -> Machine:
    store = str(tmp_path / "trialbed.db" if request.param == "sqlite" else request.getfixturevalue("postgres_url"))
    return Machine(tmp_path, bench_environment, store)


def check(machine: Machine, documents: dict[int, dict[str, Any]]) -> None:
    """Every run has each of its trials once, and the documents are about those.

    A second start that comes after the end of a run begins another, which may be killed for the last time.
    """
    with open_store(machine.store) as store:
        runs = store.runs()
        for run in runs:
            attempts = run.attempts()
            queries = {attempt.key.query_id for attempt in attempts}
            assert len(attempts) == len(queries)
            assert {(attempt.attempt, attempt.status) for attempt in attempts} <= {(0, "answered")}
            assert all(attempt.wire.model_calls and attempt.scores for attempt in attempts)
            assert run.status == "interrupted" or queries == set(run.config.query_ids)
        unfinished = [run.config.seed for run in runs if run.status != "finished"]
        stored = {run.run_id: {attempt.trial for attempt in run.attempts()} for run in runs}
    assert len(set(unfinished)) == len(unfinished)
    assert not set(unfinished) & set(documents)
    for document in documents.values():
        assert {entry["trial"] for entry in document["results"]} == stored[document["metadata"]["run_id"]]
        assert document["summary"]["average_sopr_score"] == 1.0


@pytest.mark.slow(40)
def test_kills_lose_and_double_nothing(machine: Machine) -> None:
    chance = random.Random(1)
    began = time.monotonic()
    documents = {0: machine.finish("--seed", 0)}
    span = time.monotonic() - began  # from nothing to the end, however fast the machine is
    kills, seed = 0, 1
    while kills < KILLS:
        moment = time.monotonic() + chance.uniform(0, span)
        with machine.started("--seed", seed) as first:
            if "://" in machine.store:
                ended = _ended_by(first, moment)
            else:
                with machine.started("--seed", seed) as second:
                    ended = _ended_by(first, moment) | _ended_by(second, moment)
        kills += 1
        assert ended <= {0, REFUSED}
        if 0 in ended:  # finished before it was to be killed; the next kill is another run's
            seed += 1
    documents[seed] = machine.finish("--seed", seed)
    check(machine, documents)


def _ended_by(process: Program, moment: float) -> set[int]:
    """The exit code of a process that ends by itself until a moment."""
    try:
        return {process.wait(timeout=max(0.0, moment - time.monotonic()))}
    except subprocess.TimeoutExpired:
        return set()


def test_two_starts_at_once_pay_each_trial_once(machine: Machine) -> None:
    processes: list[Program] = []

    def wait() -> None:
        """Wait until one of the two has ended: the other one cannot have finished before."""
        while len(processes) < 2 or not any(process.has_ended() for process in processes):
            time.sleep(0.01)

    async def reply(_: ReceivedRequest) -> ModelTurn:
        await asyncio.to_thread(wait)
        return say("It is done.")

    with serve(reply) as model:
        arguments = ("--model", "m", "--base-url", model.url, "--api-key-env", "NONE", "--probe", "0")
        with machine.started(*arguments) as first, machine.started(*arguments) as second:
            processes += (first, second)
            assert sorted(process.wait(600) for process in processes) == [0, REFUSED]
            outputs = [process.errors for process in processes]
    refused = outputs[[process.returncode for process in processes].index(REFUSED)]
    assert "the same run is running in another process" in refused
    assert len(model.requests) == LIMIT
    with open_store(machine.store) as store:
        (run,) = store.runs()
        assert len(run.attempts()) == LIMIT
