"""What an adapter's native profile adds to its framework: trials in a worker against the framework's bare program.

Both answer the same queries with the same scripted model through the same gateway, each in one process that is warm,
in turns: a trial of one, a trial of the other. The bare program is LangGraph's, as its documentation teaches it, with
tools that post to the virtual API by themselves; it knows nothing of Trialbed. Wall time is from the binding of the
tools to the answer; CPU time is the whole process's over all trials, and so holds what a worker does between them.

    python benchmarks/native.py [--trials 60]
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
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import fmean
from typing import Any

import httpx
import psutil

from trialbed import SYSTEM_PROMPT
from trialbed.engine import open_dataset
from trialbed.engine._tools import gold_script
from trialbed.records import Limits, ModelEndpoint, TrialKey, TrialRegistration, TrialSpec
from trialbed_plugins.executors.local import LocalExecutor
from trialbed_selection import open_selection
from trialbed_selection.selectors import QuerySelector

FRAMEWORK = "langgraph:native"
MODEL, TOLD, SEED = "scripted:gold", "gpt-4o", 1
WARM = 6
"""Trials of each that are not counted."""

BARE = """
import asyncio, json, sys, time
import httpx
from langchain.agents import create_agent
from langchain.tools import tool
from langchain_openai import ChatOpenAI

def bind(item, url, http):
    async def call(**arguments):
        body = {**item["api"], "tool_input": arguments, "strip": "", "toolbench_key": "EMPTY"}
        reply = (await http.post(url, json=body)).json()
        response = reply["response"]
        return response if isinstance(response, str) else json.dumps(response, ensure_ascii=False)
    return tool(item["name"], description=item["description"], args_schema=item["parameters"])(call)

async def answer(llm, task, http):
    tools = [bind(item, task["root"] + "/virtual", http) for item in task["tools"]]
    agent = create_agent(llm, tools=tools, system_prompt=task["instructions"])
    result = await agent.ainvoke({"messages": [{"role": "user", "content": task["query"]}]})
    text = result["messages"][-1].text
    return text

async def main():
    async with httpx.AsyncClient() as http:
        for line in iter(sys.stdin.readline, ""):
            task = json.loads(line)
            llm = ChatOpenAI(
                model=task["model"], base_url=task["root"] + "/v1", api_key="none", seed=task["seed"],
                use_responses_api=False,
            )
            began = time.perf_counter()
            text = await answer(llm, task, http)
            print(json.dumps({"wall": time.perf_counter() - began, "text": text}), flush=True)

asyncio.run(main())
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=60, help="counted trials of each")
    arguments = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        served(Path(folder)) as url,
        subprocess.Popen(
            [sys.executable, "-c", BARE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as bare,
    ):
        report(*asyncio.run(measure(url, bare, arguments.trials)))


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """A server of its own."""
    command = [sys.executable, "-m", "trialbed_server", "--port", "0", "--cache", str(folder / "r.db"), "--watch-stdin"]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdin is not None
    assert server.stdout is not None
    try:
        yield json.loads(server.stdout.readline())["url"]
    finally:
        server.stdin.close()
        server.wait()


async def measure(url: str, bare: subprocess.Popen[str], trials: int) -> tuple[list[tuple[float, float]], list[float]]:
    """Run both in turns: the wall seconds of each pair of trials, and the CPU seconds of both processes."""
    walls: list[tuple[float, float]] = []
    async with LocalExecutor(worker_trials=10_000) as executor, httpx.AsyncClient(base_url=url) as control:
        specs = specifications(url, control)
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
                walls.append(pair)
        ended = [worker_cpu(), process_cpu(psutil.Process(bare.pid))]
        cpu = [end - begin for end, begin in zip(ended, began, strict=True)]
    return walls, cpu


async def specifications(url: str, control: httpx.AsyncClient) -> Any:
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
                key=TrialKey(framework=FRAMEWORK, query_id=query.query_id),
                query=query.text,
                system_prompt=SYSTEM_PROMPT,
                tools=tools,
                endpoint=ModelEndpoint(base_url=f"{root}/v1", api_key="none", model=TOLD, seed=SEED),
                limits=Limits(),
                server_url=f"{root}/virtual",
            )


async def in_worker(executor: LocalExecutor, spec: TrialSpec) -> float:
    """Seconds of a trial in the worker."""
    outcome = await executor.execute(spec)
    assert outcome.answer is not None, outcome.failure
    return outcome.wall_time


def in_bare(process: subprocess.Popen[str], spec: TrialSpec) -> float:
    """Seconds of a trial of the bare program."""
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
    wall: float = json.loads(process.stdout.readline())["wall"]
    return wall


def worker_cpu() -> float:
    """CPU seconds of the worker so far; its supervisor's, which does nothing, included."""
    family = psutil.Process().children(recursive=True)
    return sum(process_cpu(process) for process in family if "trialbed.worker" in " ".join(process.cmdline()))


def process_cpu(process: psutil.Process) -> float:
    """CPU seconds of a process so far."""
    times = process.cpu_times()
    return float(times.user + times.system)


def report(walls: Sequence[tuple[float, float]], cpu: Sequence[float]) -> None:
    """Print both figures and their ratios; the interval is a bootstrap's over pairs."""
    ours, theirs = (fmean(column) * 1000 for column in zip(*walls, strict=True))
    draws = random.Random(0)
    ratios = sorted(ratio(draws.choices(walls, k=len(walls))) for _ in range(4000))
    interval = f"{ratios[100]:.3f}-{ratios[3899]:.3f}"
    print(f"{FRAMEWORK}, {len(walls)} trials of each in turns; milliseconds per trial")
    print(f"{'':>10} {'worker':>8} {'bare':>8} {'ratio':>20}")
    print(f"{'wall time':>10} {ours:>8.2f} {theirs:>8.2f} {f'{ratio(walls):.3f} ({interval})':>20}")
    per_trial = [seconds / len(walls) * 1000 for seconds in cpu]
    print(f"{'CPU':>10} {per_trial[0]:>8.2f} {per_trial[1]:>8.2f} {cpu[0] / cpu[1]:>20.3f}")


def ratio(walls: Sequence[tuple[float, float]]) -> float:
    """The ratio of the means."""
    return sum(pair[0] for pair in walls) / sum(pair[1] for pair in walls)


if __name__ == "__main__":
    main()
