"""``python -m trialbed_adapter_lab.fidelity.probe --framework NAME``: run rounds of trials, and measure this process.

It runs in the framework's own interpreter, with fresh agents on one event loop, and talks JSON lines over its
standard streams (``_messages``); the harness starts it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import psutil

from trialbed.contracts import BaseAgent
from trialbed.records import Record, TrialSpec
from trialbed.tools import ToolClient
from trialbed.worker import WorkerTrial, load_agent
from trialbed_adapter_lab.fidelity.probe._lags import measured_lags
from trialbed_adapter_lab.fidelity.probe._messages import TICK, Loaded, Measured, Round, TrialRun

STATUS = Path("/proc/self/status")
KIBIBYTE = 1024


class RoundRunner:
    """Run rounds of one adapter's trials, all on one event loop."""

    def __init__(self, agent_class: type[BaseAgent]) -> None:
        self._agent_class = agent_class
        self._process = psutil.Process()
        # As in a worker: one client for all trials, whose tools call the server.
        self._client = ToolClient()

    async def round(self, specs: Sequence[TrialSpec], concurrency: int) -> Measured:
        """Run these trials, so many at a time, and measure the process meanwhile."""
        slots = asyncio.Semaphore(concurrency)
        most = threading.active_count()

        def look() -> None:
            nonlocal most
            most = max(most, threading.active_count())

        async with measured_lags(TICK, look) as lags:
            cpu, began = time.process_time(), time.perf_counter()
            runs = await asyncio.gather(*(self._trial(spec, slots) for spec in specs))
            cpu, wall = time.process_time() - cpu, time.perf_counter() - began
        return Measured(
            trials=tuple(runs),
            wall=wall,
            cpu=cpu,
            longest_lag=lags.longest,
            lag_p95=lags.p95,
            threads=max(most, self._process.num_threads()),
            rss=self._process.memory_info().rss,
            peak_rss=peak_rss(),
        )

    async def _trial(self, spec: TrialSpec, slots: asyncio.Semaphore) -> TrialRun:
        async with slots:
            began = time.perf_counter()
            failure = await self._failure(spec)
            return TrialRun(trial=spec.trial, seconds=time.perf_counter() - began, failure=failure)

    async def _failure(self, spec: TrialSpec) -> str:
        trial = WorkerTrial(spec, owner_only=lambda: None)
        try:
            async with asyncio.timeout(spec.limits.timeout):
                outcome = await trial.run(self._agent_class, self._client)
        except Exception as error:  # noqa: BLE001 - any error of an agent is its failure
            failure = trial.failed(error).failure
            return failure.message if failure else repr(error)
        return "" if outcome.answer is not None and outcome.answer.finish else "the trial ended without an answer"


def peak_rss() -> int | None:
    """Return the most bytes that were ever resident in this process, None if the system does not report it.

    ``getrusage`` is not asked: on Linux its figure starts with that of the process that started this one.
    """
    try:
        lines = STATUS.read_text().splitlines()
    except OSError:
        return None
    found = next((line for line in lines if line.startswith("VmHWM:")), None)
    return int(found.split()[1]) * KIBIBYTE if found else None


def main() -> None:
    """Load the adapter, then measure rounds until there are none left."""
    parser = argparse.ArgumentParser(prog="python -m trialbed_adapter_lab.fidelity.probe")
    parser.add_argument("--framework", required=True)
    framework = parser.parse_args().framework
    replies = _take_over()
    try:
        agent_class, _ = load_agent(framework)
    except Exception as error:  # noqa: BLE001 - any error of an adapter on import is reported
        sys.exit(f"{type(error).__name__}: {error}")
    _send(replies, Loaded(cpu=time.process_time(), rss=psutil.Process().memory_info().rss))
    _serve(replies, agent_class)


def _serve(replies: int, agent_class: type[BaseAgent]) -> None:
    # Never closed, as in a worker: the process ends without waiting for a framework's leftovers.
    runner = asyncio.Runner()
    probe = RoundRunner(agent_class)
    for line in sys.stdin.buffer:
        wanted = Round.model_validate_json(line)
        _send(replies, runner.run(probe.round(wanted.specs, wanted.concurrency)))


def _take_over() -> int:
    """Keep standard output for replies; the framework prints to standard error."""
    replies = os.dup(1)
    os.dup2(2, 1)
    return replies


def _send(replies: int, message: Record) -> None:
    rest = memoryview(message.model_dump_json().encode() + b"\n")
    while rest:
        rest = rest[os.write(replies, rest) :]


if __name__ == "__main__":
    main()
    sys.stderr.flush()
    # Threads that a framework left running must not keep the process of a finished probe alive.
    os._exit(0)
