"""A run with hostile agents: each costs its own trial, and no other one of either framework."""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from support.bench import Bench, Finished, bench_in, own_environment
from support.hostile import FAULTS, HARMLESS

from trialbed_plugins.executors.local import LocalExecutor

API = {"category": "Crafts", "tool_name": "Kiln", "api_name": "fire"}
TIMEOUT = 10


@pytest.fixture
def bench(tmp_path: Path, hostile_distribution: Path) -> Bench:
    """``bench`` in an empty folder, with the hostile adapters installed."""
    variables = {"PYTHONPATH": str(hostile_distribution), "HOSTILE_ASKS": "1", "TRIALBED_MEMORY_LIMIT": "300M"}
    return bench_in(tmp_path, own_environment(**variables), timeout=900)


def run(bench: Bench, folder: Path, agents: Iterable[str]) -> Finished:
    """Run each of these agents, and an innocent trial after each."""
    queries = [
        {"query_id": query_id, "text": text, "apis": [API], "gold_calls": [{"api": API, "arguments": {}}]}
        for agent in agents
        for query_id, text in ((agent, agent), (f"after {agent}", "good"))
    ]
    (folder / "agents.json").write_text(json.dumps({"name": "agents", "queries": queries}))
    frameworks = ("--framework", "reference", "--framework", "hostile")
    return bench("run", *frameworks, "--dataset", "agents.json", "--timeout", TIMEOUT, "--concurrency", 2, "--json")


def kinds(document: Mapping) -> dict[str, str | None]:
    """Query -> the kind of its failure."""
    return {entry["query_id"]: entry.get("error", {}).get("kind") for entry in document["results"]}


def check(done: Finished, agents: Iterable[str]) -> None:
    reference, hostile = (kinds(document) for document in done.documents)
    assert set(reference.values()) == {None}
    expected = {agent: FAULTS[agent][0] if agent in FAULTS else None for agent in agents}
    expected |= {f"after {agent}": None for agent in agents}
    assert hostile == expected


def test_the_worst_cost_their_own_trial(bench: Bench, tmp_path: Path) -> None:
    agents = ("exit code", "lower the limits", "remove modules", "leave a daemon", "remove all folders")
    check(run(bench, tmp_path, agents), agents)


@pytest.mark.slow(75)
def test_every_hostile_agent_costs_its_own_trial_and_nothing_else(bench: Bench, tmp_path: Path) -> None:
    agents = (*FAULTS, *HARMLESS)
    check(run(bench, tmp_path, agents), agents)


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
