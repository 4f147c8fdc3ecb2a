"""Measure the processor time of a trial, and the memory of each process, while runs last.

    python benchmarks/running.py concurrency [--at 1,16,64,256] [--trials 60]
    python benchmarks/running.py frameworks [--names reference,langgraph,…] [--trials 60]

``concurrency`` runs ``reference`` with the scripted model, which is as fast as an agent can be, this many trials at a
time; ``frameworks`` runs each framework in its profiles, four at a time. A run has four trials for each worker or more.
The time of a trial in its worker is as the run stored it, without the first trial of each; the engine's and the
server's are counted from the first trial to the end. Frameworks that are not installed here need environments:
``bench env add``.

Figures are added to ``growth.json``, the source of the figures in ``docs/how-to/run-at-scale.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from growth import save, write_dataset

from trialbed.store import open_store

NAMES = "reference,langgraph,crewai,autogen,openai-agents,agno"
PROFILES = ("native", "controlled")
AT_ONCE = 4
INTERVAL = 0.1
TICKS = os.sysconf("SC_CLK_TCK")
BEGUN = b" trials\n"
"""In the line that a run begins with."""

KINDS = {"_supervisor.py": "supervisor", "trialbed_server": "server", "trialbed.worker": "worker"}
"""Part of a command -> its kind; a supervisor's command also contains its worker's part."""


class Used(NamedTuple):
    """The processor seconds and the most MiB of a process."""

    kind: str
    cpu: float
    mib: float


Look = dict[int, Used]
"""The processes of a run, including ended ones."""


def kind_of(command: str) -> str:
    return next((kind for part, kind in KINDS.items() if part in command), "other")


def family(root: int) -> Iterator[int]:
    """Yield a process and the running processes that it has started."""
    yield root
    with suppress(OSError):
        for task in Path(f"/proc/{root}/task").glob("*/children"):
            for child in task.read_text().split():
                yield from family(int(child))


def sample(root: int, found: Look) -> None:
    """Look at a program and all that it has started."""
    for pid in family(root):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            status, stat = Path(f"/proc/{pid}/status").read_text(), Path(f"/proc/{pid}/stat").read_text()
        except OSError:
            continue
        peak = re.search(r"VmHWM:\s+(\d+)", status)
        times = stat.rpartition(")")[2].split()
        if peak:
            kind = "engine" if pid == root else kind_of(command)
            found[pid] = Used(kind, (int(times[11]) + int(times[12])) / TICKS, int(peak[1]) / 1024)


def run(label: str, trials: int, concurrency: int, folder: Path) -> dict[str, Any]:
    """Run that many trials, and look at every process while they last."""
    write_dataset(folder / "growth.json", trials)
    options = ["--dataset", "growth.json", "-f", label, "-m", "scripted:gold", "-j", str(concurrency), "--fresh"]
    command = [sys.executable, "-m", "trialbed", "run", *options, "--store", "t.db", "-o", "results", "--yes"]
    log, begin, end = folder / "log", Look(), Look()
    with log.open("wb") as file:
        child = subprocess.Popen(command, cwd=folder, stdout=file, stderr=file)
        while child.poll() is None:
            sample(child.pid, end)
            if not begin and BEGUN in log.read_bytes()[:10_000]:
                begin = dict(end)
            time.sleep(INTERVAL)
    if child.returncode:
        raise SystemExit(log.read_text()[-2000:])
    return figures(begin, end, trials) | {"trial": agent_time(str(folder / "t.db")), "trials": trials}


def figures(begin: Look, end: Look, trials: int) -> dict[str, Any]:
    """Return the use of each kind of process, in all and for each trial since the first one began."""
    every: dict[str, dict[str, float]] = defaultdict(lambda: {"per trial": 0.0, "cpu": 0.0, "mib": 0.0, "processes": 0})
    for pid, used in end.items():
        own = every[used.kind]
        before = begin[pid].cpu if pid in begin else 0.0
        own["per trial"] += 1000 * (used.cpu - before) / trials
        own["cpu"] += used.cpu
        own["mib"] = max(own["mib"], used.mib)
        own["processes"] += 1
    return {kind: {name: round(value, 2) for name, value in own.items()} for kind, own in every.items()}


def agent_time(store: str) -> float:
    """Return the median of the processor's milliseconds in a trial's worker, without the first trial of each worker."""
    with open_store(store) as reader:
        outcomes = [result.outcome for result in reader.run("latest").attempts()]
    known = [outcome.cpu_time for outcome in outcomes if outcome.cpu_time is not None and not outcome.first]
    return round(1000 * statistics.median(known), 2)


def labels_of(name: str) -> tuple[str, ...]:
    """Return a framework's label in each profile; the built-in loop has no profiles."""
    return (name,) if name == "reference" else tuple(f"{name}:{profile}" for profile in PROFILES)


def main() -> None:
    """Measure and save."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("concurrency", "frameworks"))
    parser.add_argument("--at", default="1,16,64,256", help="how many trials at a time")
    parser.add_argument("--names", default=NAMES)
    parser.add_argument("--trials", type=int, default=60, help="of each run, at least")
    given = parser.parse_args()
    if given.what == "concurrency":
        runs = [("reference", int(most), str(most)) for most in given.at.split(",")]
    else:
        labels = [label for name in given.names.split(",") for label in labels_of(name)]
        runs = [(label, AT_ONCE, label) for label in labels]
    for label, concurrency, name in runs:
        with tempfile.TemporaryDirectory() as folder:
            found = run(label, max(given.trials, 4 * concurrency), concurrency, Path(folder))
        print(name, json.dumps(found), flush=True)
        save(given.what, name, {"run": found})


if __name__ == "__main__":
    main()
