"""Run on two nodes of a Ray cluster on this machine, to measure processor time per trial, and to lose a node.

Each round runs the reference loop with ``--executor local`` and with ``--executor ray``, few trials and many, in turns.
Their difference in time, divided by their difference in trials, is the cost of a further trial; the rest is what a run
costs once. The processor time of the command and of all that it starts counts, also on the nodes. The cluster's own
programs never rest; their time is measured while nothing runs, and subtracted.

``--frameworks`` is another measurement: 60 trials of each framework over both nodes. One node is killed as soon as
the run says that a third of the trials has ended, and another one is started. It fails if no node was killed while
trials were left, if not every trial was measured once, or if the documents differ from a following run on this machine
in more than times and what a loss changes. ``--store`` may name a PostgreSQL database.

    python benchmarks/nodes.py [--rounds 5] [--trials 360]
    python benchmarks/nodes.py --frameworks langgraph,crewai,agno [--store URL]

The former's figures are added to ``growth.json``, the source of the documentation's figures.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
from growth import save

from trialbed.store import Store

sys.path.append(str(Path(__file__).parents[1] / "tests"))
from support.differences import differences
from support.ray_cluster import RayCluster, ray_cluster

FEW = 60
QUERIES = 12
IDLE = 10.0
"""Seconds to measure the cluster's own use of processors."""

OF_LOSSES = re.compile(r"\[\d+\]\.(metadata\.lost_trials|summary\.totals\.\w+|results\[\d+\]\.attempt): ")
"""Places of documents that show a lost trial, and its repetition."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--trials", type=int, default=360, help="how many more a long run has than a short one")
    parser.add_argument("--frameworks", help="names, with commas between")
    parser.add_argument("--store", help="of the run of --frameworks")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ray_cluster(2) as cluster:
        if arguments.frameworks:
            run_frameworks(cluster, Path(folder), arguments.frameworks.split(","), arguments.store)
        else:
            compare(cluster, Path(folder), arguments.rounds, arguments.trials)


def compare(cluster: RayCluster, folder: Path, rounds: int, further: int) -> None:
    """Print the cost of a trial and of a run on both executors, and the ratio of the former."""
    trial: dict[str, list[float]] = {"local": [], "ray": []}
    whole: dict[str, list[float]] = {"local": [], "ray": []}
    for _ in range(rounds):
        for executor in trial:
            few, many = (measure(cluster, folder, executor, trials) for trials in (FEW, FEW + further))
            cost = (many - few) / further
            trial[executor].append(1000 * cost)
            whole[executor].append(few - FEW * cost)
            print(f"{executor}: {1000 * cost:.1f} ms a trial, {whole[executor][-1]:.1f} s a run", flush=True)
    ratios = [ray / local for ray, local in zip(trial["ray"], trial["local"], strict=True)]
    print(f"ray / local, a further trial: {statistics.median(ratios):.2f} [{min(ratios):.2f}-{max(ratios):.2f}]")
    figures = {
        "ratio": statistics.median(ratios),
        "least": min(ratios),
        "most": max(ratios),
        **{executor: statistics.median(costs) for executor, costs in trial.items()},
        **{f"run on {executor}": statistics.median(costs) for executor, costs in whole.items()},
    }
    rounded = {name: round(value, 3) for name, value in figures.items()}
    save("nodes", "two nodes", {"trial": {**rounded, "rounds": rounds, "trials": further}}, raised=is_raised())


def is_raised() -> bool:
    """Return whether the programs measured come before others of this machine."""
    with suppress(OSError, ValueError):
        return int(Path("/proc/self/autogroup").read_text().split()[-1]) < 0
    return False


def measure(cluster: RayCluster, folder: Path, executor: str, trials: int) -> float:
    """Return the seconds of a processor that a run takes."""
    command = ["-f", "reference", "-j", "2", "--limit", str(QUERIES), "--repeat", str(trials // QUERIES), "--fresh"]
    if executor == "local":
        before = of_children()
        bench(folder, *command)
        return of_children() - before
    with Watch(cluster) as idle:
        time.sleep(IDLE)
    before = of_children()
    with Watch(cluster) as working:
        bench(folder, *command, *on_nodes(cluster))
    return of_children() - before + working.used - idle.used / idle.seconds * working.seconds


def of_children() -> float:
    """Return the processor time of commands that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Watch:
    """The processor time of a cluster's processes, polled, because no process waits for the ended ones.

    Attributes:
        used: seconds of a processor. ``seconds``: of the clock.
    """

    def __init__(self, cluster: RayCluster) -> None:
        self._root = psutil.Process(cluster.pid)
        self._first: dict[psutil.Process, float] = self._look()
        self._last = dict(self._first)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Watch:
        self._began = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        self._last |= self._look()
        self.seconds = time.monotonic() - self._began
        self.used = sum(self._last.values()) - sum(self._first.values())

    def _watch(self) -> None:
        while not self._over.wait(0.2):
            self._last |= self._look()

    def _look(self) -> dict[psutil.Process, float]:
        found = {}
        for one in (self._root, *self._root.children(recursive=True)):
            with suppress(psutil.Error):
                found[one] = sum(one.cpu_times()[:2])
        return found


def on_nodes(cluster: RayCluster) -> list[str]:
    """Return the options of a run on the cluster."""
    return ["--executor", "ray", "--ray-address", cluster.address, "--executor-option", "memory=512M"]


def bench(folder: Path, *arguments: str, at: int = 0, then: Callable[[], None] | None = None) -> str:
    """Run the command, and return its standard output.

    Args:
        then: is called once ``at`` trials have ended, if others are left.
        at: the number of ended trials.
    """
    command = [sys.executable, "-m", "trialbed", "run", *arguments, "--yes", "--json"]
    with (
        subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process,
        ThreadPoolExecutor(1) as reading,
    ):
        assert process.stdout is not None
        assert process.stderr is not None
        out = reading.submit(process.stdout.read)
        for line in process.stderr:
            sys.stderr.write(line)
            done = re.match(r"\[(\d+)/(\d+)\]", line)
            if then and done and at <= int(done[1]) < int(done[2]):
                then()
                then = None
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    if then:
        raise SystemExit(f"{' '.join(command)} was never seen with {at} trials ended and some left")
    return out.result()


def run_frameworks(cluster: RayCluster, folder: Path, names: list[str], url: str | None) -> None:
    """Run all frameworks, kill a node meanwhile, and see that each trial is measured once, and as on one machine."""
    store = url or str(folder / "trials.db")
    command = [part for name in names for part in ("-f", name)] + ["-j", "4", "--repeat", "5", "--limit", str(QUERIES)]
    trials = 5 * QUERIES * len(names)
    began = time.monotonic()

    def kill() -> None:
        cluster.kill()
        cluster.add()

    out = bench(folder, *command, "--store", store, *on_nodes(cluster), at=trials // 3, then=kill)
    documents = json.loads(out)
    took = time.monotonic() - began
    metadata = documents[0]["metadata"]
    with Store.open(store) as opened:
        attempts = list(opened.each_attempt(metadata["run_id"]))
    counted = [attempt for attempt in attempts if attempt.status != "not measured"]
    measured = Counter(attempt.key for attempt in counted)
    nodes = Counter(attempt.outcome.node for attempt in counted)
    lost = metadata.get("lost_trials", {})
    print(f"{len(measured)} of {trials} trials measured in {took:.0f} s; by node: {dict(nodes)}; lost: {lost}")
    here = json.loads(bench(folder, *command, "--store", str(folder / "here.db")))
    found = [*differences(documents, here)]
    print("other than on one machine:", found)
    if wrong := [*faults(measured, trials, found, losses=bool(lost))]:
        raise SystemExit("\n".join(wrong))


def faults(measured: Mapping[Any, int], trials: int, found: Iterable[str], *, losses: bool) -> Iterator[str]:
    """Yield all faults of the measured run.

    Args:
        measured: how many attempts of each trial were measured.
        trials: how many trials the run has.
        found: how its documents differ from a run on one machine.
        losses: whether trials were lost, the only allowed difference.
    """
    if len(measured) != trials:
        yield f"{len(measured)} of {trials} trials were measured"
    yield from (f"{trial} was measured {times} times" for trial, times in measured.items() if times > 1)
    yield from (f"the documents differ: {one}" for one in found if not (losses and OF_LOSSES.match(one)))


if __name__ == "__main__":
    main()
