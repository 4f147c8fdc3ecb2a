"""Runs with hostile agents: each costs its own trial and no other one, and none is scored for what it did not do."""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from support.bench import own_environment

from trialbed.records import Outcome, TrialSpec
from trialbed_adapter_lab.hostile import ATTACKS, CHEATS, PROBES, AttackResult
from trialbed_plugins.executors.local import LocalExecutor

BENCH = Path(sys.executable).with_name("bench")
KEPT = {"secrets in the environment", "tokens of other trials"}


@pytest.mark.slow(75)
def test_every_hostile_agent_costs_its_own_trial_and_nothing_else(
    tmp_path: Path, make_spec: Callable[..., TrialSpec], request: pytest.FixtureRequest
) -> None:
    # Executed, not forked from a process of the tests: its workers would begin with the memory of that process.
    done = subprocess.run(
        [BENCH, "adapter", "check", "reference", "--hostile", "--sandbox", "none", "--json"],
        cwd=tmp_path,
        env=own_environment(),
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (report,) = json.loads(done.stdout)
    results = [AttackResult(**result) for result in report["results"]]
    assert [result for result in results if not result.held] == []
    assert len(results) == len(ATTACKS)
    check_cheats(report["cheats"])
    check_reach(report["reach"])
    # A busy machine may keep some from their end: those have a minute each.
    own = {result.attack: result.own for result in results}
    late = [
        attack for attack in ATTACKS if own[attack.name].startswith("timeout") and attack.kind not in (None, "timeout")
    ]
    request.getfixturevalue("hostile_distribution")
    for attack in late:
        outcome = asyncio.run(carried_out(make_spec(attack.name)))
        assert outcome.failure is not None, attack
        assert (outcome.failure.kind, attack.message in outcome.failure.message) == (attack.kind, True), outcome.failure


def check_cheats(found: Sequence[Mapping[str, Any]]) -> None:
    """Each way to be scored for answers that are known is worthless, and named where it leaves a trace."""
    # They run together by their models.
    assert sorted((one["cheat"], one["model"]) for one in found) == sorted((one.name, one.model) for one in CHEATS)
    assert [one for one in found if not one["held"]] == []


def check_reach(found: Sequence[Mapping[str, Any]]) -> None:
    """Without a sandbox an agent gets at all but secrets and other trials."""
    assert {one["probe"] for one in found if one["got"]} == {*PROBES} - KEPT
    assert [one for one in found if not one["held"]] == []


async def carried_out(spec: TrialSpec) -> Outcome:
    async with LocalExecutor(memory_limit=300 << 20) as executor:
        return await executor.execute(spec)


@pytest.mark.skipif(sys.platform != "linux", reason="counts the descriptors that Linux reports")
async def test_trials_that_leak_sockets_do_not_use_up_a_worker(make_spec, hostile_distribution, monkeypatch):
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (350, limits[1]))
    try:
        async with LocalExecutor() as executor:
            outcomes = [await executor.execute(make_spec("leak descriptors")) for _ in range(4)]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert [outcome.failure for outcome in outcomes] == [None] * 4
