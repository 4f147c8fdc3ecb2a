"""A checkout in the form of MASBench's, invented for these tests, and a server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.bench import Bench, bench_in, own_environment
from support.servers import ServerProcess

pytest.importorskip("trialbed_masbench", reason="trialbed-masbench is not installed: make .venv/.test")

BASE = """
from langchain_core.tools import BaseTool

class BaseAgent:
    def bind_tools(self, tools=None, tools_dir=None, server_url=""):
        assert all(isinstance(tool, BaseTool) for tool in tools)
        self.tools = {tool.name: tool for tool in tools}
"""

ASKING = """
import json
from openai import OpenAI
from ..base_agent import BaseAgent

class {kind}(BaseAgent):
    def __init__(self, model="gpt-4o-mini", server_url="", temperature=0.0, verbose=False):
        print("agents print")
        self.model, self.client = model, OpenAI()

    def answer(self, query):
        offered = [
            dict(type="function", function=dict(name=tool.name, parameters=tool.args_schema.model_json_schema()))
            for tool in self.tools.values()
        ]
        messages, called = [dict(role="user", content=query)], []
        while True:
            reply = self.client.chat.completions.create(model=self.model, messages=messages, tools=offered)
            message = reply.choices[0].message
            if not message.tool_calls:
                break
            messages.append(message)
            for call in message.tool_calls:
                tool = self.tools[call.function.name]
                text = {call}
                called.append([tool.metadata["tool_name"], tool.metadata["api_name"]])
                messages.append(dict(role="tool", tool_call_id=call.id, content=text))
        ending = dict(return_type="give_answer", final_answer=message.content)
        finish = json.dumps(dict(name="Finish", arguments=ending, response=""))
        details = [dict(role="tool", message=finish, next=[])]
        return {{"answer": {{"final_answer": message.content, "answer_details": details}}, "called_apis": called}}
"""

CALLS = {"steady": "tool.func(**json.loads(call.function.arguments))", "boasting": "'no call is made'"}


def api(number: int) -> dict[str, Any]:
    parameter = {"name": "from", "type": "STRING", "description": "", "default": f"place {number}"}
    return {
        "category_name": "Data",
        "tool_name": "Ferry",
        "api_name": f"route {number}",
        "api_description": "A route.",
        "required_parameters": [parameter],
        "optional_parameters": [],
        "method": "GET",
    }


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three agents: one calls what it is asked for, one only says so, and the file of the third is missing."""
    root = tmp_path_factory.mktemp("masbench")
    folder = root / "single_agent" / "tool_use"
    for name in (*CALLS, "absent"):
        (folder / "agents" / name).mkdir(parents=True)
        (folder / "agents" / name / "__init__.py").touch()
    for name, call in CALLS.items():
        kind = f"{name.title()}Agent"
        (folder / "agents" / name / "agent.py").write_text(ASKING.format(kind=kind, call=call))
        (folder / "agents" / name / "__init__.py").write_text(f"from .agent import {kind}\n")
    (folder / "agents" / "__init__.py").touch()
    (folder / "agents" / "base_agent.py").write_text(BASE)
    queries = folder / "StableToolBench" / "solvable_queries" / "test_instruction"
    queries.mkdir(parents=True)
    rows = [
        {
            "query_id": number,
            "query": "Which routes are there?",
            "api_list": [api(number), api(number + 1)],
            "relevant APIs": [["Ferry", f"route {number}"]],
        }
        for number in (1, 2)
    ]
    (queries / "G1_tiny.json").write_text(json.dumps(rows))
    cached = folder / "tool_response_cache" / "Data" / "ferry_for_Data"
    cached.mkdir(parents=True)
    answers = {"{'is_from': 'place 1'}": {"error": "", "response": "the cached route"}}
    (cached / "route_1.json").write_text(json.dumps(answers))
    results = root / "results" / "tools"
    results.mkdir(parents=True)
    for name, solved in (("k20_q2", 1.0), ("k120_q2", "it broke")):
        (results / f"steady_agent_G1_tiny_{name}.json").write_text(json.dumps(published(solved)))
    return root


def published(solved: float | str) -> dict[str, Any]:
    """A result file; text instead of a score is an error."""
    failed = {"error": solved} if isinstance(solved, str) else {}
    scores = {"sopr_score": 0.0 if failed else solved, "api_call_score": 0.0, "answer_status": "Solved"}
    results = [
        {"query_id": number, "query_text": "Which routes are there?", "scores": scores, "called_apis": [], **failed}
        for number in (1, 2)
    ]
    about = {"agent_name": "steady_agent", "test_set": "G1_tiny", "num_queries": 2, "evaluator_model": "gpt-4o-mini"}
    return {"metadata": about, "summary": {"average_api_call_score": 0.0}, "results": results}


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    """Run ``bench`` in an empty folder, without anybody's settings or keys."""
    environment = own_environment(TRIALBED_DATA_DIR=str(tmp_path / "data"))
    return bench_in(tmp_path, {name: value for name, value in environment.items() if "KEY" not in name})


@pytest.fixture(scope="module")
def server_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    server = ServerProcess(watch_stdin=True, cache=tmp_path_factory.mktemp("server") / "responses.db")
    try:
        yield server.url
    finally:
        server.end()
