"""A run with hostile agents: each costs its own trial, and no other one of either framework."""

from __future__ import annotations

import asyncio
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from support.bench import own_environment

from trialbed.records import Outcome, TrialSpec
from trialbed_adapter_lab.hostile import ATTACKS, AttackResult
from trialbed_plugins.executors.local import LocalExecutor

BENCH = Path(sys.executable).with_name("bench")


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
