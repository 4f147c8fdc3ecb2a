"""Measure what the sandbox adds to the start of a worker and to a trial, in turns with one server.

python benchmarks/sandbox.py [--rounds 7] [--repeat 2] [--framework reference]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import secrets
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from trialbed_plugins.executors.local import LocalExecutor
from trialbed_plugins.executors.sandbox import check_sandbox


def main() -> None:
    """Measure and print the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--repeat", type=int, default=2, help="times that the 60 queries are run in a round")
    parser.add_argument("--framework", default="reference")
    arguments = parser.parse_args()
    # The server and the runs are started with it.
    os.environ.setdefault("TRIALBED_SERVER_TOKEN", secrets.token_urlsafe())
    print(", ".join(check_sandbox()))
    modes = ("without", "sandbox")
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "trialbed", "serve", "--port", "0", "--response-cache", f"{folder}/r.db"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder)
        try:
            assert server.stdout is not None
            url = json.loads(server.stdout.readline())["url"]
            trials(Path(folder), url, "without", arguments)  # fills the server's cache
            rows = [measure(Path(folder), url, mode, arguments) for _ in range(arguments.rounds) for mode in modes]
        finally:
            server.terminate()
            server.wait()
    report(modes, rows)


def measure(folder: Path, url: str, mode: str, arguments: argparse.Namespace) -> tuple[float, float]:
    """Return the seconds of a worker's start, and of a trial."""
    return asyncio.run(start(mode, url, arguments.framework)), trials(folder, url, mode, arguments)


async def start(mode: str, url: str, framework: str) -> float:
    """Return the seconds until an executor's second worker is ready; the first also finds out what it may read."""
    executor = LocalExecutor()
    executor.hidden = () if mode == "sandbox" else None
    executor.connect(url)
    async with executor:
        await executor.describe(framework)
        executor._idle.clear()  # so that the next one is started
        began = time.perf_counter()
        await executor.describe(framework)
        return time.perf_counter() - began


def trials(folder: Path, url: str, mode: str, arguments: argparse.Namespace) -> float:
    """Median seconds of an agent's answer."""
    command = [sys.executable, "-m", "trialbed", "run", "--framework", arguments.framework, "--server-url", url]
    command += [
        *["--sandbox"] * (mode == "sandbox"),
        "--repeat",
        str(arguments.repeat),
        "--concurrency",
        "1",
        "--fresh",
        "--json",
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True, cwd=folder)
    document = json.loads(done.stdout)
    document = document[0] if isinstance(document, list) else document
    return statistics.median(entry["system_answer_time"] for entry in document["results"])


def report(modes: Sequence[str], rows: list[tuple[float, float]]) -> None:
    """Print medians, and ratios to the round without the sandbox."""
    columns = {mode: rows[number :: len(modes)] for number, mode in enumerate(modes)}
    for mode in modes:
        for place, name in enumerate(("start of a worker", "trial")):
            own = [row[place] for row in columns[mode]]
            ratios = sorted(mine / base[place] for mine, base in zip(own, columns["without"], strict=True))
            milliseconds = statistics.median(own) * 1000
            spread = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})"
            print(f"{mode:10} {name:18} {milliseconds:7.1f} ms  ratio {spread}")


if __name__ == "__main__":
    main()
