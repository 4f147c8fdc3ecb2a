"""CPU time of a scripted test of an agent beyond the agent itself, against an empty test.

A test file of the fixture ``trialbed`` runs under pytest in this process: each test has one trial of an agent that
makes two calls in three requests, over plain HTTP. The CPU time of a test covers this process and the servers
that it started, from its setup to its report; the agent measures its own, in its thread. The first tests, which start
the server, are not counted. Other work on the machine changes CPU times little, and wall times much.

    python benchmarks/agent_tests.py [--tests 200]
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

FIRST = 10
"""Tests that are not counted."""

TESTS = '''
import json
import time
import urllib.request

import pytest

from trialbed import Expect, call

OWN = []


def find_order(id: int) -> dict:
    """Find an order."""
    return {"item": "lamp", "price": 12.5}


def refund(id: int) -> str:
    """Refund an order."""
    return "refunded"


def agent(query, tools, base_url, api_key, model):
    began = time.thread_time()
    by_name, messages = {tool.name: tool for tool in tools}, [{"role": "user", "content": query}]
    offered = [{"type": "function", "function": {"name": tool.name, "parameters": tool.parameters}} for tool in tools]
    while True:
        body = json.dumps({"model": model, "messages": messages, "tools": offered}).encode()
        headers = {"Authorization": f"Bearer {api_key}", "Content-Type": "application/json"}
        asked = urllib.request.Request(f"{base_url}/chat/completions", body, headers)
        with urllib.request.urlopen(asked) as reply:
            said = json.load(reply)["choices"][0]["message"]
        if not said.get("tool_calls"):
            OWN.append(time.thread_time() - began)
            return said["content"]
        messages.append(said)
        for one in said["tool_calls"]:
            result = by_name[one["function"]["name"]].text(json.loads(one["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": one["id"], "content": result})


CALLS = [call("find_order", id=7), call("refund", id=7)]


@pytest.mark.parametrize("number", range(TESTS))
def test_agent(trialbed, number):
    trial = trialbed.run(agent, "Refund order 7", tools=[find_order, refund], expect=Expect(calls=CALLS))
    assert trial.called("find_order", id=7).before("refund") and trial.solved


@pytest.mark.parametrize("number", range(TESTS))
def test_nothing(number):
    assert number >= 0
'''


class Meter:
    """A plugin of pytest that notes the CPU time of each test, in seconds, by the name of its function."""

    def __init__(self) -> None:
        self.costs: dict[str, list[float]] = {}
        self.own: list[float] = []
        self.failed = 0

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Measure a test with its setup, its teardown and its reports."""
        before = servers_time() + time.process_time()
        yield
        # The search for servers is not part of the test; it comes before the first time, and after the second.
        after = time.process_time() + servers_time()
        self.costs.setdefault(item.name.partition("[")[0], []).append(after - before)
        self.own = item.module.OWN  # type: ignore[attr-defined] # a function of the file above

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Count the tests that fail."""
        self.failed += report.failed


def servers_time() -> float:
    """Return the CPU time of the processes that this one started, in seconds."""
    return float(sum(sum(one.cpu_times()[:2]) for one in psutil.Process().children(recursive=True)))


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tests", type=int, default=200)
    tests = parser.parse_args().tests + FIRST
    meter = Meter()
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # other plugins' work in each test is none of Trialbed's
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "test_agent.py"
        file.write_text(TESTS.replace("TESTS", str(tests)), encoding="utf-8")
        (Path(folder) / "pytest.ini").touch()
        options: list[Any] = ["-q", "--no-header", "-p", "trialbed_testing.plugin", "--rootdir", folder]
        pytest.main([*options, str(file)], plugins=[meter])
    assert not meter.failed
    # Servers' times have steps of 10 ms: what counts is the sum over many tests. With the last test, they end.
    counted = (meter.costs["test_agent"], meter.costs["test_nothing"], meter.own)
    agent, nothing, own = (statistics.fmean(found[FIRST:-1]) * 1000 for found in counted)
    print(f"CPU per test, ms, mean of {tests - FIRST - 1}: {agent:.1f}, of which the agent {own:.1f}")
    print(f"beyond the agent: {agent - own:.1f} (aim: at most 30); an empty test: {nothing:.1f}")
    print(f"ratio to the agent itself: {(agent - own) / own:.1f}")


if __name__ == "__main__":
    main()
