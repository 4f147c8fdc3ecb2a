"""Any program as an agent."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml
from support.warm import warm_programs

from trialbed.cli import main
from trialbed.preparation import RunOptions
from trialbed.report import legacy_documents
from trialbed.run_report import run_and_report

EXAMPLES = Path(__file__).parents[3] / "examples"
NEEDED = {
    "agent.mjs": ("node", "node", "apt-get install nodejs"),
    "agent.sh": ("bash", "jq", "apt-get install jq curl"),
    "mcp_agent.py": (sys.executable, sys.executable, ""),
    "messages_agent.mjs": ("node", "node", "apt-get install nodejs"),
    "messages_agent.py": (sys.executable, sys.executable, ""),
    "responses_agent.py": (sys.executable, sys.executable, ""),
}
"""Example -> what runs it, what it needs, and how that is installed."""

pytestmark = pytest.mark.slow(40)


def ran(tmp_path: Path, *commands: str, **settings: Any) -> list[dict[str, Any]]:
    """The documents of a run of these commands."""
    options = RunOptions(
        frameworks=(),
        commands=commands,
        store=str(tmp_path / "trialbed.db"),
        output=tmp_path / "results",
        response_cache=tmp_path / "responses.db",
        **{"limit": 2, **settings},
    )
    with warm_programs():
        return legacy_documents(asyncio.run(run_and_report(options)))


@pytest.mark.parametrize("example", NEEDED)
def test_the_examples_solve_their_tasks(tmp_path: Path, example: str) -> None:
    program, needed, remedy = NEEDED[example]
    if shutil.which(needed) is None:
        pytest.skip(f"{needed} is not installed; {remedy}")
    if example == "mcp_agent.py" and version("mcp").startswith("1."):
        pytest.skip("the example is written for the second major version of mcp")
    (document,) = ran(tmp_path, f"{program} {EXAMPLES / example}", limit=1)
    about, summary = document["metadata"], document["summary"]
    assert summary["error_count"] == 0, summary["errors"]
    assert (summary["average_sopr_score"], summary["average_api_call_score"]) == (1.0, 1.0)
    assert (about["agent_name"], about["command"]) == (Path(example).stem, f"{program} {EXAMPLES / example}")


FORCES = """
import json, os, sys, urllib.request

task = json.load(sys.stdin)


def post(url, body):
    headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
    return json.load(urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)))


def ask(**more):
    asked = {"model": os.environ["OPENAI_MODEL"], "messages": messages, "tools": tools, **more}
    messages.append(post(os.environ["OPENAI_BASE_URL"] + "/chat/completions", asked)["choices"][0]["message"])
    return messages[-1]


functions = [{name: one[name] for name in ("name", "parameters")} for one in task["tools"]]
tools = [{"type": "function", "function": one} for one in functions]
messages = [{"role": "user", "content": task["query"]}]
(call,) = ask(tool_choice={"type": "function", "function": {"name": "find_order"}})["tool_calls"]
(tool,) = [one for one in task["tools"] if one["name"] == "find_order"]
arguments = {"tool_input": call["function"]["arguments"], "strip": "", "toolbench_key": ""}
reply = post(os.environ["TRIALBED_TOOLS_URL"], tool["api"] | arguments)
messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(reply["response"])})
print(ask()["content"])
"""
"""A program that makes its model call a tool, as structured output by tools does."""

DESK = """
tools:
  - function:
      name: find_order
      parameters: {type: object, properties: {id: {type: integer}}, required: [id]}
    example: {price: 12.5}
tasks:
  - {query: How much is order 7?, expect: {calls: [{find_order: {id: 7}}]}}
  - {query: How much is order 8?, expect: {calls: [{find_order: {id: 8}}]}, allow_forced_calls: true}
"""


def test_calls_that_the_request_forces_count_where_the_task_allows_them(tmp_path: Path) -> None:
    (tmp_path / "forces.py").write_text(FORCES)
    (tmp_path / "desk.yaml").write_text(DESK)
    (document,) = ran(tmp_path, f"{sys.executable} {tmp_path}/forces.py", dataset=str(tmp_path / "desk.yaml"))
    refused, allowed = document["results"]
    assert (refused["scores"]["api_call_score"], allowed["scores"]["api_call_score"]) == (0, 1)
    assert (refused["scores"]["answer_status"], allowed["scores"]["answer_status"]) == ("Unsolved", "Solved")
    (lost,) = refused["gold_calls"]
    assert "the request forced the call with tool_choice" in lost["reason"]
    assert document["summary"]["integrity"]["findings"]["forced_call"]["count"] == 1


def test_a_program_gets_no_secrets_and_what_it_starts_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-the-users-own-key-0123456789")
    monkeypatch.setenv("GITHUB_TOKEN", "ghp_0123456789abcdefghijklmnopqrstuvwxyz")
    script = tmp_path / "tell.py"
    script.write_text(
        "import json, os, subprocess, sys\n"
        "left = subprocess.Popen(['sleep', '600'], start_new_session=True, stdout=2)\n"
        "json.dump([left.pid, dict(os.environ)], open(sys.argv[1], 'w'))\n"
    )
    seen = tmp_path / "seen.json"
    ran(tmp_path, f"{sys.executable} {script} {seen}", limit=1)
    pid, environment = json.loads(seen.read_text())
    assert not psutil.pid_exists(pid)
    assert "sk-the-users-own-key" not in json.dumps(environment)
    assert "GITHUB_TOKEN" not in environment
    assert environment["OPENAI_BASE_URL"].endswith("/v1")
    assert environment["TRIALBED_TOOLS_URL"].endswith("/virtual")
    assert environment["TRIALBED_MCP_URL"].endswith("/mcp")


def test_a_program_that_fails_says_why_and_a_changed_one_is_another_run(tmp_path: Path) -> None:
    script = tmp_path / "broken.sh"
    script.write_text("#!/bin/sh\necho no such model >&2\nexit 3\n")
    script.chmod(0o755)
    (first,) = ran(tmp_path, str(script))
    assert "ended with exit code 3: no such model" in json.dumps(first["results"][0]["error"])
    script.write_text("#!/bin/sh\necho done\n")
    (second,) = ran(tmp_path, str(script))
    # An answer without a request to the model is a failure too, but another one.
    assert "model" in json.dumps(second["results"][0]["error"])
    assert "exit code" not in json.dumps(second["results"][0]["error"])
    assert first["metadata"]["framework_version"] != second["metadata"]["framework_version"]
    assert os.path.basename(script) in second["metadata"]["command"]


OWN_TOOLS = '''
import json, sys
from langchain.agents import create_agent
from langchain_core.tools import tool

@tool
def find_order(id: int) -> dict:
    """Find an order."""
    return {"item": "lamp", "price": 12.5}

@tool(return_direct=True)
def price(id: int) -> str:
    """Price of an order."""
    return "12.5"

print("loading", file=sys.stdout)
agent = create_agent("openai:gpt-4o-mini", [find_order])
direct = create_agent("openai:gpt-4o-mini", [price])

def ask(query):
    return agent.invoke({"messages": [("user", query)]})["messages"][-1].content

if __name__ == "__main__":
    print(ask(json.load(sys.stdin)["query"]))
'''


def test_an_unmodified_agent_with_its_own_tools_is_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("agent.py").write_text(OWN_TOOLS)
    Path("tasks.yaml").write_text(
        "- query: What did order 7 cost?\n  expect: {facts: '12.5', calls: [{find_order: {id: 7}}], never: [refund]}\n"
    )
    agents = ["-f", "agent.py:agent", "-f", "agent.py:ask", "--command", f"{sys.executable} agent.py"]
    assert main(["run", *agents, "--dataset", "tasks.yaml"]) == 0
    assert "--model-name gpt-4o-mini has the run's model answer" in " ".join(capsys.readouterr().out.split())
    with warm_programs():
        assert main(["run", *agents, "--dataset", "tasks.yaml", "--model-name", "gpt-4o-mini"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "agent, agent.agent and agent.ask solve the same 100 % of 1 task (one trial each)" in shown
    assert "to their own tools are read from the conversation." in shown

    # What a tool says is this agent's answer, and no model is told of it.
    Path("tasks.yaml").write_text(
        "- query: What did order 7 cost?\n  expect: {facts: '12.5', calls: [{price: {id: 7}}]}\n"
    )
    with warm_programs():
        args = ["run", "-f", "agent.py:direct", "--dataset", "tasks.yaml", "--model-name", "gpt-4o-mini"]
        assert main([*args, "--json"]) == 3
    output = capsys.readouterr()
    ((one,),) = (document["results"] for document in json.loads(output.out))
    assert (one["scores"]["sopr_score"], one["scores"]["api_call_score"]) == (None, None)
    assert "a result that the agent did not send back is not observed" in " ".join(output.err.split())
    assert "asks again" not in output.err


FINDER = """
from trialbed.wire import Call


class Finder:
    def answer(self, request):
        return "It cost 12.50." if request.is_continued else Call("find_order", '{"id": 7}')
"""


def test_a_file_of_tasks_is_drafted_of_one_trial_of_an_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("agent.py").write_text(OWN_TOOLS)
    Path("finder.py").write_text(FINDER)
    asked = ["init", "--from", "agent.py:agent", "--query", "What did order 7 cost?"]
    assert main([*asked, "--model-name", "gpt-4o-mini", "-o", "names.yaml"]) == 0
    assert "A scripted model does not choose calls" in capsys.readouterr().out
    names = Path("names.yaml").read_text()
    assert "# Tools that the agent offers: find_order\n" in names
    assert yaml.safe_load(names) == {"tasks": [{"query": "What did order 7 cost?"}]}

    asked[2] = "agent.py"
    assert main([*asked, "--model-name", "gpt-4o-mini", "--model", "finder.py:Finder"]) == 0
    assert "bench run --command 'python agent.py' --dataset tasks.yaml" in capsys.readouterr().out
    task = {"query": "What did order 7 cost?", "expect": {"calls": [{"find_order": {"id": 7}}]}}
    assert yaml.safe_load(Path("tasks.yaml").read_text()) == {"tasks": [{**task, "answer": "loading\nIt cost 12.50."}]}
    assert main(["tasks", "check", "tasks.yaml"]) == 0
    assert main(asked) == 2
    assert "-o tasks.yaml: the file already exists" in capsys.readouterr().err
    assert main([*asked, "-o", "other.yaml"]) == 3
    assert "no task could be drafted: " in (said := capsys.readouterr().err)
    assert "'gpt-4o-mini'. --model-name gpt-4o-mini has the run's model answer under this name" in said
    assert main(["init", "--from", "agent.py"]) == 2
    assert "give a FRAMEWORK to start from, or --from AGENT and --query TEXT" in capsys.readouterr().err
