"""A run with hostile agents: each costs its own trial, and no other one of either framework."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

import pytest
from support.bench import bench_in, own_environment

from trialbed_adapter_lab.hostile import ATTACKS, AttackResult
from trialbed_plugins.executors.local import LocalExecutor


@pytest.mark.slow(75)
def test_every_hostile_agent_costs_its_own_trial_and_nothing_else(tmp_path: Path) -> None:
    bench = bench_in(tmp_path, own_environment(), timeout=900)
    done = bench("adapter", "check", "reference", "--hostile", "--sandbox", "none", "--json")
    (report,) = json.loads(done.out)
    results = [AttackResult(**result) for result in report["results"]]
    assert [result for result in results if not result.held] == []
    assert len(results) == len(ATTACKS)
    # A busy machine may keep a few from their end; that is no reason to take a hang for every failure.
    kinds = {attack.name: attack.kind for attack in ATTACKS}
    late = [result for result in results if result.own.startswith("timeout") and kinds[result.attack] != "timeout"]
    assert len(late) < 4, late


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
