"""How long ``bench --help`` takes, over ``python -c "import click"``: whole processes, in turn.

python benchmarks/start_up.py [--rounds 15]
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time

HELP = [sys.executable, "-m", "trialbed", "--help"]
FLOOR = [sys.executable, "-c", "import click"]


def main() -> None:
    """Measure and print the ratio."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    for command in (HELP, FLOOR):
        seconds(command)  # once each, so that compiled files are there
    rows = [(seconds(HELP), seconds(FLOOR)) for _ in range(rounds)]
    ratios = sorted(ours / floor for ours, floor in rows)
    ours, floor = (statistics.median(column) * 1000 for column in zip(*rows, strict=True))
    print(f"bench --help {ours:.0f} ms, import click {floor:.0f} ms, median of {rounds} rounds")
    print(f"ratio {statistics.median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})")


def seconds(command: list[str]) -> float:
    """Wall time of one run."""
    began = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
