"""Measure the cost of an adapter's native profile: trials in a worker against the framework's bare program.

Both answer the same queries with the same scripted model through the same gateway, each in one process that is warm,
in turns: a trial of one, a trial of the other. The bare programs (``programs/``) follow each framework's
documentation, with tools that post to the virtual API themselves, or come over MCP; they know nothing of
Trialbed. CrewAI's runs in a thread, like its adapter, because its call blocks. Both run in the framework's environment,
which is built if it is missing. Wall time and CPU time are from the binding of the tools to the answer; their ratios
are medians over pairs, with 95 % intervals (bootstrap). ``whole`` is the CPU time of each process over all trials, and
so holds what a worker does between them.

    python benchmarks/native.py [--trials 60] [--framework crewai ...] [--env-dir FOLDER]
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median

import httpx
import psutil

from trialbed import SYSTEM_PROMPT
from trialbed.catalogs import open_dataset
from trialbed.cli.env import chosen_environments
from trialbed.engine import gold_script
from trialbed.records import Environment, Limits, ModelEndpoint, TrialKey, TrialRegistration, TrialSpec
from trialbed_plugins.executors import _worker
from trialbed_plugins.executors.local import LocalExecutor
from trialbed_selection import open_selection
from trialbed_selection.selectors import QuerySelector

MODEL, TOLD, SEED = "scripted:gold", "gpt-4o", 1
WARM = 6
"""Trials of each that are not counted."""

Spent = tuple[float, float]
"""Wall and CPU seconds of a trial."""

PROGRAMS = Path(__file__).parent / "programs"
FRAMEWORKS = ("langgraph", "crewai", "autogen", "openai-agents", "agno")
MARK = "#answer "
"""Begins the line with a program's answer; frameworks print lines too."""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=60, help="counted trials of each")
    parser.add_argument("--framework", action="append", choices=FRAMEWORKS, help="default: all")
    parser.add_argument("--env-dir", type=Path, help="folder of the frameworks' environments")
    arguments = parser.parse_args()
    labels = [f"{name}:native" for name in arguments.framework or FRAMEWORKS]
    environments = chosen_environments(labels, yes=True, env_dir=arguments.env_dir)
    print(
        f"{arguments.trials} trials of each in turns; milliseconds per trial: medians, and means of the whole CPU time"
    )
    print(f"{'':>20} {'':>10} {'worker':>8} {'bare':>8} {'ratio':>22}")
    for label in labels:
        with (
            tempfile.TemporaryDirectory() as folder,
            served(Path(folder)) as url,
            program(label, environments.get(label)) as bare,
        ):
            report(label, *asyncio.run(measure(url, label, environments, bare, arguments.trials)))


@contextmanager
def program(label: str, environment: Environment | None) -> Iterator[subprocess.Popen[str]]:
    """A framework's bare program."""
    python = environment.python if environment else sys.executable
    path = PROGRAMS / f"{label.partition(':')[0].replace('-', '_')}_program.py"
    with subprocess.Popen(
        [python, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()
        # What a framework prints at its end must not keep it waiting for a reader.
        process.kill()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A server of its own."""
    options = {"port": 0, "cache": str(folder / "r.db"), "watch_stdin": True}
    command = [sys.executable, "-m", "trialbed_server", json.dumps(options)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        yield json.loads(server.stdout.readline())["url"]
    finally:
        server.stdin.close()
        server.wait()


async def measure(
    url: str, label: str, environments: Mapping[str, Environment], bare: subprocess.Popen[str], trials: int
) -> tuple[list[tuple[Spent, Spent]], list[float]]:
    """Run both in turns; return the times of each pair of trials, and the CPU seconds of both processes."""
    pairs: list[tuple[Spent, Spent]] = []
    _worker.TRIALS = 10_000  # all trials are measured in one
    executor = LocalExecutor(environments=environments)
    async with executor, httpx.AsyncClient(base_url=url) as control:
        specs = specifications(url, label, control)
        for number in range(WARM + trials):
            if number == WARM:
                began = [worker_cpu(), process_cpu(psutil.Process(bare.pid))]
            ours, theirs = await anext(specs), await anext(specs)
            if number % 2:
                pair = (await in_worker(executor, ours), in_bare(bare, theirs))
            else:
                first = in_bare(bare, theirs)
                pair = (await in_worker(executor, ours), first)
            if number >= WARM:
                pairs.append(pair)
        ended = [worker_cpu(), process_cpu(psutil.Process(bare.pid))]
        cpu = [end - begin for end, begin in zip(ended, began, strict=True)]
    return pairs, cpu


async def specifications(url: str, label: str, control: httpx.AsyncClient) -> AsyncIterator[TrialSpec]:
    """Trials that are open on the server, each query twice in a row, without end."""
    dataset = open_dataset("mini", Path())
    stage, selector = open_selection(dataset.apis()), QuerySelector()
    selector.prepare(dataset.apis())
    for number, query in enumerate(itertools.cycle(dataset.queries())):
        tools = stage.tools(query, selector, max_tools=120)
        for side in ("worker", "bare"):
            trial = f"{side}-{number:08}-{time.time_ns()}"
            registration = TrialRegistration(
                trial=trial,
                model=MODEL,
                model_name=TOLD,
                tools=tools,
                apis=query.apis,
                script=gold_script(query, tools),
                simulator=dataset.simulator,
            )
            reply = await control.post("/control/trials", json=registration.model_dump(mode="json"))
            reply.raise_for_status()
            root = f"{url}/t/{trial}"
            yield TrialSpec(
                trial=trial,
                key=TrialKey(framework=label, query_id=query.query_id),
                query=query.text,
                system_prompt=SYSTEM_PROMPT,
                tools=tools,
                endpoint=ModelEndpoint(base_url=f"{root}/v1", api_key="none", model=TOLD, seed=SEED),
                limits=Limits(),
                server_url=f"{root}/virtual",
            )


async def in_worker(executor: LocalExecutor, spec: TrialSpec) -> Spent:
    """Return the time of a trial in the worker."""
    outcome = await executor.execute(spec)
    assert outcome.answer is not None, outcome.failure
    assert outcome.cpu_time is not None
    return outcome.wall_time, outcome.cpu_time


def in_bare(process: subprocess.Popen[str], spec: TrialSpec) -> Spent:
    """Return the time of a trial in the bare program."""
    assert process.stdin is not None
    assert process.stdout is not None
    tools = [
        {
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
            "api": tool.api.model_dump(mode="json"),
        }
        for tool in spec.tools
    ]
    task = {
        "root": spec.endpoint.base_url.removesuffix("/v1"),
        "model": TOLD,
        "seed": SEED,
        "instructions": spec.system_prompt,
        "query": spec.query,
        "tools": tools,
    }
    process.stdin.write(json.dumps(task) + "\n")
    process.stdin.flush()
    line = next(line for line in process.stdout if line.startswith(MARK))
    spent = json.loads(line.removeprefix(MARK))
    return spent["wall"], spent["cpu"]


def worker_cpu() -> float:
    """CPU seconds of the worker so far; its supervisor's, which does nothing, included."""
    family = psutil.Process().children(recursive=True)
    return sum(process_cpu(process) for process in family if "trialbed.worker" in " ".join(process.cmdline()))


def process_cpu(process: psutil.Process) -> float:
    """CPU seconds of a process so far."""
    times = process.cpu_times()
    return float(times.user + times.system)


def report(label: str, pairs: Sequence[tuple[Spent, Spent]], whole: Sequence[float]) -> None:
    """Print the figures and their ratios; the intervals are a bootstrap's over pairs."""
    for place, name in enumerate(("wall time", "CPU")):
        sides = [(ours[place], theirs[place]) for ours, theirs in pairs]
        medians = [median(column) for column in zip(*sides, strict=True)]
        line("" if place else label, name, medians, interval(sides))
    line("", "whole CPU", [seconds / len(pairs) for seconds in whole], f"{whole[0] / whole[1]:.3f}")


def interval(sides: Sequence[tuple[float, float]]) -> str:
    """Return the median ratio and its interval."""
    ratios = [ours / theirs for ours, theirs in sides]
    draws = random.Random(0)
    medians = sorted(median(draws.choices(ratios, k=len(ratios))) for _ in range(4000))
    return f"{median(ratios):.3f} ({medians[100]:.3f}-{medians[3899]:.3f})"


def line(label: str, name: str, seconds: Sequence[float], ratio: str) -> None:
    """Print one figure of both sides."""
    ours, theirs = (each * 1000 for each in seconds)
    print(f"{label:>20} {name:>10} {ours:>8.2f} {theirs:>8.2f} {ratio:>22}", flush=True)


if __name__ == "__main__":
    main()
