"""The CPU of a further trial: ``bench run`` against the least rig that measures at the wire (``floor.py``).

Both run the reference loop with a scripted model on the same generated tasks: three model requests and two tool calls a
trial. A further trial is the difference of two runs of different lengths, divided by the trials between them;
starting and ending are left out. The CPU covers all processes, result documents included. The rounds alternate.

    python benchmarks/overhead.py [--rounds 3] [--trials 60 360]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from growth import write_dataset

FLOOR = Path(__file__).with_name("floor.py")
CONCURRENCIES = (1, 16)


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--trials", type=int, nargs=2, default=(60, 360), metavar=("FEW", "MANY"))
    given = parser.parse_args()
    few, many = given.trials
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        dataset = folder / "tasks.json"
        write_dataset(dataset, many)
        bench_cpu(folder, dataset, few, 1)  # fills the caches of byte code
        floor_cpu(folder, few, 1)
        print("ms of CPU of a further trial, median of the rounds")
        print(f"{'at a time':>9} {'floor':>8} {'bench run':>10} {'ratio':>6}  of each round")
        for concurrency in CONCURRENCIES:
            rounds = []
            for _ in range(given.rounds):
                floors = [floor_cpu(folder, trials, concurrency) for trials in (few, many)]
                benches = [bench_cpu(folder, dataset, trials, concurrency) for trials in (few, many)]
                rounds.append([1000 * (longer - shorter) / (many - few) for shorter, longer in (floors, benches)])
            floor, bench = (statistics.median(column) for column in zip(*rounds, strict=True))
            ratios = ", ".join(f"{mine / least:.2f}" for least, mine in rounds)
            print(f"{concurrency:>9} {floor:>8.1f} {bench:>10.1f} {bench / floor:>6.2f}  {ratios}", flush=True)


def floor_cpu(folder: Path, trials: int, concurrency: int) -> float:
    """CPU seconds of the floor with all its processes."""
    store = folder / "floor.db"
    for path in folder.glob("floor.db*"):
        path.unlink()
    seconds, output = cpu([sys.executable, str(FLOOR), str(trials), str(concurrency), str(store)], folder)
    assert json.loads(output) == [trials, 1.0], output
    return seconds


def bench_cpu(folder: Path, dataset: Path, trials: int, concurrency: int) -> float:
    """CPU seconds of ``bench run`` with all its processes."""
    command = [sys.executable, "-m", "trialbed", "run", "-f", "reference", "-d", str(dataset), "--fresh"]
    command += ["-n", str(trials), "-j", str(concurrency), "--format", "csv", "--store", str(folder / "runs.db")]
    for path in folder.glob("runs.db*"):
        path.unlink()
    seconds, output = cpu(command, folder)
    solved = next(line for line in output.splitlines() if ",sopr_score," in line).split(",")
    assert float(solved[6]) == 1.0, output
    return seconds


def cpu(command: list[str], folder: Path) -> tuple[float, str]:
    """Run a command; returns the CPU seconds of it and of the processes that it waited for, and its output."""
    process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    output = process.stdout.read().decode()
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime, output


if __name__ == "__main__":
    main()
