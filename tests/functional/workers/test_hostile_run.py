"""Runs with hostile agents: each costs its own trial and no other one, and none is scored for what it did not do."""

from __future__ import annotations

import asyncio
import resource
import sys
from collections.abc import Callable

import pytest
from support.warm import warm_programs

from trialbed.records import Outcome, TrialSpec
from trialbed_adapter_lab.hostile import ATTACKS, CHEATS, PROBES, run_attacks, run_cheats, run_probes
from trialbed_plugins.executors.local import LocalExecutor

KEPT = {"secrets in the environment", "tokens of other trials"}


SECONDS = 5
"""That a trial may take: half of the usual, since two attacks keep a processor busy to its end."""


@pytest.mark.slow(60)
def test_every_hostile_agent_costs_its_own_trial_and_nothing_else(
    make_spec: Callable[..., TrialSpec], request: pytest.FixtureRequest
) -> None:
    # Executed, not forked from a process of the tests: its workers would begin with the memory of that process.
    report = run_attacks("reference", timeout=SECONDS)
    assert [result for result in report.results if not result.held] == []
    assert len(report.results) == len(ATTACKS)
    # A busy machine may keep some from their end: those have a minute each.
    own = {result.attack: result.own for result in report.results}
    late = [
        attack for attack in ATTACKS if own[attack.name].startswith("timeout") and attack.kind not in (None, "timeout")
    ]
    request.getfixturevalue("hostile_distribution")
    for attack in late:
        outcome = asyncio.run(carried_out(make_spec(attack.name)))
        assert outcome.failure is not None, attack
        assert (outcome.failure.kind, attack.message in outcome.failure.message) == (attack.kind, True), outcome.failure


@pytest.mark.slow(20)
def test_each_way_to_be_scored_for_known_answers_is_worthless_and_named_where_it_leaves_a_trace() -> None:
    with warm_programs():
        found = run_cheats("reference")
    # They run together by their models.
    assert sorted((one.cheat, one.model) for one in found) == sorted((one.name, one.model) for one in CHEATS)
    assert [one for one in found if not one.held] == []


@pytest.mark.slow(5)
def test_without_a_sandbox_an_agent_gets_at_all_but_secrets_and_other_trials() -> None:
    with warm_programs():
        found = run_probes()
    assert {one.probe for one in found if one.got} == {*PROBES} - KEPT
    assert [one for one in found if not one.held] == []


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
