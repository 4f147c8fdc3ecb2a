"""The overhead of Trialbed: trials under ``bench run`` against the same loop as a bare script, with the same server.

Both run the reference loop on the embedded dataset with the scripted model, at the same concurrency, in
alternating rounds on one server. Beyond one trial at a time, there are two bare scripts: one process that runs all, and
as many processes as trials at a time, since ``bench run`` has a process for each agent. The bare script calls the loop
and nothing else: no registration, no scores, no store (its trials are opened on the server beforehand). The first round
over the queries warms both up (connections, caches, and Trialbed's workers) and is not counted, except in the last two
columns: they take the whole command, from the shell to its result.

    python benchmarks/overhead.py [--rounds 5] [--repeat 5]
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
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx

from trialbed.catalogs import open_dataset
from trialbed.engine._gold import gold_script
from trialbed.records import Limits, ModelEndpoint, Query, ToolSpec, TrialRegistration
from trialbed_plugins.frameworks.reference import ReferenceAgent
from trialbed_selection import open_selection
from trialbed_selection.selectors import QuerySelector

CONCURRENCIES = (1, 16)
TOKEN_VARIABLE = "TRIALBED_SERVER_TOKEN"


def main() -> None:
    """Measure and print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--repeat", type=int, default=6, help="times that the 60 queries are run in a round, at least 2"
    )
    parser.add_argument("--bare", metavar="URL", help=argparse.SUPPRESS)
    parser.add_argument("--concurrency", type=int, default=1, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.repeat < 2:
        parser.error("--repeat must be at least 2: the first round over the queries is not counted")
    if arguments.bare:
        print(json.dumps(asyncio.run(bare(arguments.bare, arguments.concurrency, arguments.repeat))))
        return
    # The processes that are started below know it too.
    os.environ.setdefault(TOKEN_VARIABLE, secrets.token_urlsafe())
    with tempfile.TemporaryDirectory() as folder:
        report(measure(Path(folder), arguments.rounds, arguments.repeat))


Row = tuple[float, float, float, float]
"""Seconds per trial: bare in one process, bare in a process for each trial at a time, trialbed, its whole command."""


def measure(folder: Path, rounds: int, repeat: int) -> dict[int, list[Row]]:
    """``concurrency -> rows``, one a round."""
    server = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "trialbed_server",
            json.dumps({"port": 0, "cache": str(folder / "responses.db"), "watch_stdin": True}),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        url = json.loads(server.stdout.readline())["url"]
        run_rig(folder, url, 4, 2)  # fills the server's cache
        return {
            concurrency: [
                (
                    run_bare(url, 1, concurrency, repeat),
                    run_bare(url, concurrency, 1, repeat if concurrency == 1 else 2),
                    *run_rig(folder, url, concurrency, repeat),
                )
                for _ in range(rounds)
            ]
            for concurrency in CONCURRENCIES
        }
    finally:
        server.stdin.close()
        server.wait()


def run_bare(url: str, processes: int, concurrency: int, repeat: int) -> float:
    """Seconds per trial of the bare script in processes of its own, over those in which all of them worked."""
    command = [sys.executable, __file__, "--bare", url, "--concurrency", str(concurrency), "--repeat", str(repeat)]
    started = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) for _ in range(processes)]
    for process in started:
        assert process.stdout is not None
        process.stdout.readline()  # its trials are open
    for process in started:
        assert process.stdin is not None
        process.stdin.close()
    ends: list[list[float]] = []
    for process in started:
        assert process.stdout is not None
        ends.append(sorted(json.loads(process.stdout.read())))
        process.wait()
    warm = len(ends[0]) // repeat
    since, until = max(of_one[warm - 1] for of_one in ends), min(of_one[-1] for of_one in ends)
    return (until - since) / sum(since < end <= until for of_one in ends for end in of_one)


def run_rig(folder: Path, url: str, concurrency: int, repeat: int) -> tuple[float, float]:
    """Seconds per trial of ``bench run``: first start to last end, and of the whole command."""
    command = [sys.executable, "-m", "trialbed", "run", "--server-url", url, "--json"]
    command += ["-j", str(concurrency), "--repeat", str(repeat)]
    began = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    whole = time.perf_counter() - began
    (document,) = json.loads(done.stdout)
    trials = document["results"]
    results = [trial for trial in trials if trial["repeat"] > 0]
    starts = [datetime.fromisoformat(result["started_at"]).timestamp() for result in results]
    ends = [start + result["timing"]["system_answer_time"] for start, result in zip(starts, results, strict=True)]
    return (max(ends) - min(starts)) / len(results), whole / len(trials)


async def bare(url: str, concurrency: int, repeat: int) -> list[float]:
    """Run the loop alone once standard input ends; returns the seconds at which trials ended."""
    dataset = open_dataset("mini", Path())
    stage, selector = open_selection(dataset.apis()), QuerySelector()
    selector.prepare(dataset.apis())
    work: asyncio.Queue[tuple[str, Query, tuple[ToolSpec, ...]]] = asyncio.Queue()
    opened: list[str] = []
    authorization = {"Authorization": f"Bearer {os.environ[TOKEN_VARIABLE]}"}
    async with (
        httpx.AsyncClient(base_url=url, headers=authorization) as control,
        httpx.AsyncClient() as tools_client,
    ):
        for number in range(repeat):
            for query in dataset.queries():
                tools = stage.tools(query, selector, max_tools=120)
                trial = f"bare-{os.getpid()}-{time.time_ns()}-{number}"
                await register(control, trial, query, tools, dataset.simulator)
                work.put_nowait((trial, query, tools))
                opened.append(trial)
        print("ready", flush=True)
        sys.stdin.read()
        ends = [
            end
            for ends in await asyncio.gather(*(lane(url, work, tools_client) for _ in range(concurrency)))
            for end in ends
        ]
        for trial in opened:
            await control.delete(f"/control/trials/{trial}")
        return ends


async def register(
    control: httpx.AsyncClient, trial: str, query: Query, tools: tuple[ToolSpec, ...], simulator: str
) -> None:
    """Open a trial on the server."""
    registration = TrialRegistration(
        trial=trial,
        model="scripted:gold",
        tools=tools,
        apis=query.apis,
        script=gold_script(query, tools),
        simulator=simulator,
    )
    reply = await control.post("/control/trials", json=registration.model_dump(mode="json"))
    reply.raise_for_status()


async def lane(url: str, work: asyncio.Queue[Any], client: httpx.AsyncClient) -> list[float]:
    """Run trials until none is left; returns when each ended."""
    from trialbed import SYSTEM_PROMPT, Tool

    ends = []
    while not work.empty():
        trial, query, tools = work.get_nowait()
        endpoint = ModelEndpoint(base_url=f"{url}/t/{trial}/v1", api_key="bare", model="scripted:gold")
        agent = ReferenceAgent(endpoint, Limits(), system_prompt=SYSTEM_PROMPT)
        agent.bind_tools([Tool(tool, f"{url}/t/{trial}/virtual", client) for tool in tools], server_url=url)
        answer = await agent.answer(query.text)
        assert answer.finish == "give_answer", answer
        await agent.close()
        ends.append(time.time())
    return ends


def report(rows: dict[int, list[Row]]) -> None:
    """Print medians of seconds per trial, and of the ratios round by round."""
    print("milliseconds per trial, median of rounds; ratios are taken round by round")
    print(f"{'at once':>7} {'bare':>26} {'ms':>6} {'trialbed':>8} {'ratio':>18} {'whole command':>14} {'ratio':>7}")
    for concurrency, rounds in rows.items():
        medians = [statistics.median(column) * 1000 for column in zip(*rounds, strict=True)]
        bares = ("one process",) if concurrency == 1 else ("one process", f"{concurrency} processes")
        for column, name in enumerate(bares):
            ratios = sorted(row[2] / row[column] for row in rounds)
            spread = f"{statistics.median(ratios):.2f} ({ratios[0]:.2f}-{ratios[-1]:.2f})"
            whole = f"{medians[3]:>14.1f} {statistics.median(row[3] / row[column] for row in rounds):>7.2f}"
            print(f"{concurrency:>7} {name:>26} {medians[column]:>6.1f} {medians[2]:>8.1f} {spread:>18} {whole}")


if __name__ == "__main__":
    main()
