"""Tasks on the tools of an MCP server: live, then as they were, then with faults."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import psutil
import pytest
from support import mcp_server

from trialbed import evaluate, open_store

TOOLS = """
answers: {answers}
mcp: {{command: {python} -I {server}}}
tools:
  - {{function: {{name: add, parameters: {{properties: {{item: {{type: string}}}}}}}}, original: cart.add}}
  - {{function: {{name: list}}, reads: true}}
"""

TASKS = """
tools: shop.yaml
tasks:
  - {query: lamp chair, expect: {facts: [2 items], calls: [add: {item: lamp}, add: {item: chair}], order: given}}
  - {query: lamp, expect: {facts: [1 items], calls: [add: {item: lamp}]}}
"""


def buy(query: str, tools: Any) -> str:
    """Add each item; say the last response."""
    add = next(tool for tool in tools if tool.name == "add")
    return [str(add.invoke({"item": item})) for item in query.split()][-1]


def write(answers: str) -> None:
    text = TOOLS.format(answers=answers, python=sys.executable, server=mcp_server.__file__)
    Path("shop.yaml").write_text(text, encoding="utf-8")


def is_server(pid: int) -> bool:
    """Whether the process of this number is still the server, and no later one."""
    try:
        return any("mcp_server" in word for word in psutil.Process(pid).cmdline())
    except psutil.Error:
        return False


@pytest.mark.slow(8)
def test_calls_pass_through_once_each_trial_with_its_own_server_and_are_replayed_without_it() -> None:
    Path("tasks.yaml").write_text(TASKS, encoding="utf-8")
    write("live")
    runs = [evaluate({"mine": buy}, "tasks.yaml", concurrency=1)]
    write("recorded")
    Path("started").rename("started-before")
    runs.append(evaluate({"mine": buy}, "tasks.yaml"))
    runs.append(evaluate({"mine": buy}, "tasks.yaml", faults='{"tools": {"rate": 1, "faults": ["server_error"]}}'))
    assert not Path("started").exists()
    servers = Path("started-before").read_text().split()
    assert servers
    assert not any(is_server(int(server)) for server in servers)
    with open_store() as store:
        live, recorded, faulty = (
            sorted(store.run(one.run.run_id).trials(), key=lambda trial: str(trial.key.query_id)) for one in runs
        )
        for trials, provenance in ((live, "live"), (recorded, "recorded")):
            scores = [trial.score("sopr_score") for trial in trials]
            assert [score and score.value for score in scores] == [1, 1]
            calls = [call for trial in trials for call in trial.wire.api_calls]
            items = [(call.response, call.provenance) for call in calls]
            assert items == [(text, provenance) for text in ("1 items", "2 items", "1 items")]
        assert {call.fault for trial in faulty for call in trial.wire.api_calls} == {"server_error"}
