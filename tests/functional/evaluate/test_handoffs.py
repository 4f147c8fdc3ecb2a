"""An agent made of several, which hand the conversation over to one another."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.evaluation import trials

from trialbed.cli import main

TEAM = """
import json

import httpx

PROMPTS = {"triage": "Pass the question on.", "orders": "Look orders up."}


def ask(agent, messages, base_url, model, offered):
    whole = [{"role": "system", "content": PROMPTS[agent]}, *messages]
    body = {"model": model, "messages": whole, **({"tools": offered} if offered else {})}
    answer = httpx.post(f"{base_url}/chat/completions", json=body).raise_for_status().json()
    return answer["choices"][0]["message"]


def team(query, base_url, model, openai_tools, functions):
    messages = [{"role": "user", "content": query}]
    ask("triage", messages, base_url, model, [])
    by_name = {function.__name__: function for function in functions}
    while True:
        message = ask("orders", messages, base_url, model, openai_tools)
        messages.append(message)
        if not message.get("tool_calls"):
            return message["content"]
        for made in message["tool_calls"]:
            result = by_name[made["function"]["name"]](**json.loads(made["function"]["arguments"]))
            messages.append({"role": "tool", "tool_call_id": made["id"], "content": str(result)})
"""
DESK = """
from trialbed import tool


@tool
def find_order(id: int) -> dict:
    \"""Find an order.\"""
    return {"id": id, "price": "12.50"}
"""
TASKS = """
tools: desk.py
tasks:
  - query: What did order 7 cost?
    expect: {facts: "12.50", calls: [find_order: {id: 7}]}
"""


def test_each_request_says_which_agent_sent_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("agent.py", TEAM), ("desk.py", DESK), ("tasks.yaml", TASKS)):
        Path(name).write_text(text)
    assert main(["run", "-f", "agent.py:team", "-f", "reference", "--dataset", "tasks.yaml"]) == 0
    assert [trial.score("sopr_score").value for trial in trials()] == [1, 1]
    capsys.readouterr()
    assert main(["show", "latest", "agent.team/1"]) == 0
    shown = capsys.readouterr().out
    assert [f"request {place} of agent {agent}:" in shown for place, agent in ((1, 1), (2, 2), (3, 2))] == [True] * 3
    assert main(["show", "latest", "reference/1"]) == 0
    assert "of agent" not in capsys.readouterr().out
