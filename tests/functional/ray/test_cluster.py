"""Runs on two nodes of Ray: the same documents as on one machine, and every trial once, whichever nodes are killed.

``TRIALBED_TEST_RAY_KILLS`` is the number of nodes that are killed, each at a random moment of the run; one if it is not
set. The store of the run on nodes is PostgreSQL, and that of the one on one machine is SQLite.
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
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from support.bench import bench_in, own_environment
from support.differences import differences
from support.ray_cluster import NODE_KEY, RayCluster, ray_cluster

from trialbed.engine import RunProgress
from trialbed.preparation import RunOptions
from trialbed.records import TrialResult
from trialbed.report import Report
from trialbed.run_report import run_and_report
from trialbed.store import Store

pytestmark = pytest.mark.slow(100)

KILLS = int(os.environ.get("TRIALBED_TEST_RAY_KILLS", "1"))
KEY = "sk-canary-of-the-engine"


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    if importlib.util.find_spec("ray") is None:
        pytest.skip("ray is not installed")
    with ray_cluster(2) as found:
        yield found


def test_documents_are_those_of_one_machine_and_no_key_is_on_any_node(
    cluster: RayCluster, tmp_path: Path, postgres_url: str
) -> None:
    run = ("run", "-f", "reference", "-f", "reference-messages", "--limit", "3", "-j", "2", "--json")
    run += ("--sandbox",)
    here = bench_in(tmp_path, own_environment())(*run, "--store", "here.db").documents
    command = [sys.executable, "-m", "trialbed", *run, "--store", postgres_url, "--executor", "ray"]
    command += ["--ray-address", cluster.address, "--executor-option", "memory=512M"]
    seen: set[str] = set()
    in_workers: set[str] = set()
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        env=own_environment(OPENAI_API_KEY=KEY),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
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
    there = json.loads(out)
    assert [*differences(there, here)] == []
    assert all(document["metadata"]["sandbox_mechanisms"] != [] for document in there)
    assert any("ray::Place" in text for text in seen), "the actors were looked at"
    assert any("trialbed_ray.bridge" in text for text in seen)
    assert not [text for text in seen if KEY in text]
    assert any(NODE_KEY in text for text in seen), "a key that the nodes have"
    assert in_workers
    assert not [text for text in in_workers if NODE_KEY in text]


class Killer(RunProgress):
    """Kills a node at each of these numbers of trials that have ended, and starts another one."""

    def __init__(self, cluster: RayCluster, moments: Collection[int]) -> None:
        self.said: list[str] = []
        self.killed = 0
        self._cluster = cluster
        self._moments = moments
        self._ended = 0
        self._adding = ThreadPoolExecutor(1)
        self._added: Future[None] | None = None

    def note(self, text: str) -> None:
        self.said.append(text)

    def advance(self, result: TrialResult) -> None:
        self._ended += 1
        if self._ended in self._moments:
            self.wait()  # one node is left
            self._cluster.kill()
            self.killed += 1
            self._added = self._adding.submit(self._cluster.add)

    def wait(self) -> None:
        if self._added is not None:
            self._added.result()


def test_every_trial_is_measured_once_whichever_nodes_are_killed(cluster: RayCluster, tmp_path: Path) -> None:
    asked = options_on(cluster, tmp_path, repeat=5 * max(1, KILLS // 2))
    trials = 6 * asked.repeat
    killer = Killer(cluster, random.sample(range(1, trials - 3), KILLS))
    report = asyncio.run(run_and_report(asked, progress=killer))
    killer.wait()
    assert killer.killed == KILLS
    assert report.run.status == "finished", killer.said
    assert_each_is_measured_once(asked, report)


def options_on(cluster: RayCluster, folder: Path, *, repeat: int) -> RunOptions:
    """A run of six queries on the cluster; it waits long for nodes, as one takes minutes to start on a busy machine."""
    return RunOptions(
        frameworks=("reference",),
        model=("scripted:gold",),
        limit=6,
        repeat=repeat,
        concurrency=2,
        executor="ray",
        executor_options=("memory=512M", "patience=900"),
        ray_address=cluster.address,
        store=str(folder / "trialbed.db"),
        output=folder / "results",
        response_cache=folder / "responses.db",
    )


def assert_each_is_measured_once(asked: RunOptions, report: Report) -> None:
    with Store.open(asked.store) as store:
        attempts = list(store.each_attempt(report.run.run_id))
    measured = Counter(attempt.key for attempt in attempts if attempt.status == "answered")
    assert (len(measured), set(measured.values())) == (6 * asked.repeat, {1})
    lost = [attempt for attempt in attempts if attempt.outcome.failure is not None]
    assert {attempt.outcome.failure.kind for attempt in lost if attempt.outcome.failure} <= {"lost"}
    assert sum(report.run.lost.values()) == len(lost)
    assert len({attempt.trial for attempt in attempts}) == len(attempts), "each under a token of its own"


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
