"""Runs on two nodes of Ray: the same documents as on one machine, and every trial once, whichever nodes are killed.

``TRIALBED_RAY_KILLS`` is the number of nodes that are killed, each at a random moment of a run; two if it is not set.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from support.bench import bench_in, own_environment
from support.ray_cluster import NODE_KEY, RayCluster, ray_cluster

from trialbed.engine import NoProgress, RunOptions
from trialbed.records import TrialResult
from trialbed.run_report import run_and_report
from trialbed.store import Store

pytestmark = pytest.mark.slow(150)

KILLS = int(os.environ.get("TRIALBED_RAY_KILLS", "2"))
KEY = "sk-canary-of-the-engine"
TIMES = ("time", "timestamp", "rate", "duration")
"""Parts of the names of keys whose values are times, or follow from some."""

CHANCE = {"cached", "cached_calls", "first", "first_trials", "run_id", "server_url", "started_at", "trial"}
"""Keys whose values differ from run to run on one machine, too: tokens, and the order of trials."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    if importlib.util.find_spec("ray") is None:
        pytest.skip("ray is not installed")
    with ray_cluster(2) as found:
        yield found


def options(cluster: RayCluster, *others: str) -> list[str]:
    given = (f"address={cluster.address}", "memory=512M", *others)
    return ["--executor", "ray", *(part for option in given for part in ("--executor-option", option))]


def differences(one: Any, other: Any, place: str = "") -> Iterator[str]:
    """The places in which two documents differ, but for times."""
    if isinstance(one, dict) and isinstance(other, dict):
        for key in one.keys() | other.keys():
            if key not in CHANCE and not any(name in key for name in TIMES):
                yield from differences(one.get(key), other.get(key), f"{place}.{key}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            yield from differences(left, right, f"{place}[{number}]")
    elif one != other:
        yield f"{place}: {one!r:.100} and {other!r:.100}"


def test_documents_are_those_of_one_machine_but_for_times(cluster: RayCluster, tmp_path: Path) -> None:
    bench = bench_in(tmp_path, own_environment())
    run = ("run", "-f", "reference", "-f", "reference-messages", "--limit", "3", "-j", "3", "--json")
    found = bench(*run, "--store", "here.db").documents
    there = bench(*run, "--store", "there.db", *options(cluster)).documents
    assert [*differences(there, found)] == []


class Killer(NoProgress):
    """Kills a node once so many trials have ended, and starts another one."""

    def __init__(self, cluster: RayCluster, after: int) -> None:
        self.said: list[str] = []
        self._cluster = cluster
        self._left = after
        self.thread: threading.Thread | None = None

    def note(self, text: str) -> None:
        self.said.append(text)

    def advance(self, result: TrialResult) -> None:
        self._left -= 1
        if self._left == 0:
            self.thread = threading.Thread(target=self._replace)
            self.thread.start()

    def _replace(self) -> None:
        self._cluster.kill()
        self._cluster.add()


@pytest.mark.parametrize("number", range(KILLS))
def test_every_trial_is_measured_once_whichever_node_is_killed(
    number: int, cluster: RayCluster, tmp_path: Path
) -> None:
    asked = RunOptions(
        frameworks=("reference",),
        model="scripted:gold",
        limit=6,
        repeat=5,
        concurrency=4,
        executor="ray",
        executor_options=(f"address={cluster.address}", "memory=512M"),
        store=str(tmp_path / "trialbed.db"),
        output=tmp_path / "results",
        response_cache=tmp_path / "responses.db",
    )
    killer = Killer(cluster, random.randint(1, 26))
    report = asyncio.run(run_and_report(asked, progress=killer))
    assert killer.thread is not None, "no node was killed"
    killer.thread.join()
    with Store.open(asked.store) as store:
        attempts = store.attempts(report.run.run_id)
    measured = Counter(attempt.key for attempt in attempts if attempt.status == "answered")
    assert report.run.status == "finished", killer.said
    assert (len(measured), set(measured.values())) == (30, {1})
    lost = [attempt for attempt in attempts if attempt.outcome.failure is not None]
    assert {attempt.outcome.failure.kind for attempt in lost if attempt.outcome.failure} <= {"lost"}
    assert sum(report.run.lost.values()) == len(lost)
    assert len({attempt.trial for attempt in attempts}) == len(attempts), "each under a token of its own"


def test_no_key_is_on_any_node_and_sandboxes_hold_there(cluster: RayCluster, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "trialbed", "run", "-f", "reference", "--limit", "6", "--repeat", "3"]
    command += ["--sandbox", "process", "--json", *options(cluster)]
    variables = own_environment(OPENAI_API_KEY=KEY)
    seen: set[str] = set()
    in_workers: set[str] = set()
    with subprocess.Popen(
        command, cwd=tmp_path, env=variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:

        def watch(is_over: Callable[[], bool]) -> None:
            while not is_over():
                for one in _of_nodes(cluster, process.pid):
                    seen.update(texts := _texts(one))
                    if any("trialbed.worker" in text for text in texts):
                        in_workers.update(texts)
                time.sleep(0.2)

        over = threading.Event()
        watching = threading.Thread(target=watch, args=(over.is_set,))
        watching.start()
        out, errors = process.communicate(timeout=300)
        over.set()
        watching.join()
    assert process.returncode == 0, errors
    assert any("ray::Place" in text for text in seen), "the actors were looked at"
    assert any("trialbed.worker" in text for text in seen)
    assert any("trialbed_ray.bridge" in text for text in seen)
    assert not [text for text in seen if KEY in text]
    assert any(NODE_KEY in text for text in seen), "a key that the nodes have"
    assert in_workers
    assert not [text for text in in_workers if NODE_KEY in text]
    (document,) = json.loads(out)
    assert document["metadata"]["sandbox_mechanisms"] != []


def _of_nodes(cluster: RayCluster, engine: int) -> Iterator[psutil.Process]:
    """The processes of the cluster, and the bridge of a run."""
    yield from psutil.Process(cluster.pid).children(recursive=True)
    with suppress(psutil.Error):  # it may end at any time
        yield from (one for one in psutil.Process(engine).children() if "trialbed_ray.bridge" in one.cmdline())


def _texts(process: psutil.Process) -> set[str]:
    try:
        return {" ".join(process.cmdline()), *(f"{name}={value}" for name, value in process.environ().items())}
    except (psutil.Error, OSError):
        return set()
