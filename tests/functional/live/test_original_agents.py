"""Agents in the form of the benchmark that came before: only their import line changes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from trialbed import BaseAgent, run_benchmark
from trialbed.catalogs import open_dataset


class FrameworkAgent(BaseAgent):
    """Keeps what it is bound to, and calls every tool once."""

    def __init__(self) -> None:
        self.tools: list[Any] = []

    def bind_tools(
        self, tools: Any = None, tools_dir: Any = None, server_url: str = "http://localhost:8080/virtual"
    ) -> None:
        assert tools_dir is None
        if tools is not None:
            self.tools = tools

    def answer(self, query: str) -> dict[str, Any]:
        called = []
        for tool in self.tools:
            assert tool.metadata["original_name"] == f"{tool.metadata['tool_name']}_{tool.metadata['api_name']}"
            assert tool.parameters["type"] == "object"
            tool.run(dict.fromkeys(tool.parameters.get("required", ()), "x"))
            called.append([tool.metadata["tool_name"], tool.metadata["api_name"]])
        return {"answer": {"final_answer": query, "answer_details": []}, "called_apis": called}


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_an_agent_that_binds_tools_is_observed_calling_them(server_url: str) -> None:
    document = run_benchmark(FrameworkAgent(), "mini", 3, server_url, agent_name="original")
    assert document["summary"]["error_count"] == 0
    for result in document["results"]:
        assert len(result["wire"]["observed"]) > 1
        assert result["scores"]["claimed_vs_observed"] == 1.0
        assert result["scores"]["api_call_score"] == 1.0


LANGCHAIN = """
import sys
from langchain.agents import create_agent
from langchain_openai import ChatOpenAI
from trialbed import BaseAgent, run_benchmark

SERVER = sys.argv[1]

class FrameworkAgent(BaseAgent):
    def __init__(self):
        self.llm = ChatOpenAI(model="gpt-4o", base_url=f"{SERVER}/v1", api_key="none")
        self.tools = []

    def bind_tools(self, tools=None, tools_dir=None, server_url="http://localhost:8080/virtual"):
        self.tools = tools

    def answer(self, query):
        agent = create_agent(self.llm, self.tools)
        result = agent.invoke({"messages": [{"role": "user", "content": query}]})
        calls = [m.name for m in result["messages"] if m.type == "tool"]
        original = {tool.name: tool.metadata for tool in self.tools}
        called = [[original[name]["tool_name"], original[name]["api_name"]] for name in calls]
        return {"answer": {"final_answer": result["messages"][-1].text, "answer_details": []}, "called_apis": called}

document = run_benchmark(FrameworkAgent(), "mini", 3, f"{SERVER}/virtual", agent_name="chain", model="scripted:gold")
for result in document["results"]:
    assert result["scores"]["api_call_score"] == 1.0, result
    assert result["scores"]["claimed_vs_observed"] == 1.0, result
"""


@pytest.mark.slow
def test_tools_go_into_langchain_as_they_are(server_url: str, tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", LANGCHAIN, server_url], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


STRUCTURED = """
import sys
from langchain_core.tools import StructuredTool
from trialbed import BaseAgent, run_benchmark

class FrameworkAgent(BaseAgent):
    def bind_tools(self, tools=None, tools_dir=None, server_url=None):
        assert all(isinstance(tool, StructuredTool) for tool in tools)
        self.tools = tools

    def answer(self, query):
        for tool in self.tools:
            fields = tool.args_schema.model_fields
            required = {name: "x" for name, field in fields.items() if field.is_required()}
            kinds = {field.annotation for name, field in fields.items() if name in required}
            assert kinds <= {str, int, float, bool}
            assert isinstance(tool.func(**required), str)
        return "done"

document = run_benchmark(FrameworkAgent(), "mini", 3, f"{sys.argv[1]}/virtual", agent_name="structured")
for result in document["results"]:
    assert result["scores"]["api_call_score"] == 1.0, result
"""


@pytest.mark.slow
def test_agents_may_take_the_function_and_the_fields_out_of_structured_tools(server_url: str, tmp_path: Path) -> None:
    ended = subprocess.run([sys.executable, "-c", STRUCTURED, server_url], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


async def test_a_tool_is_a_tool_of_langchain_with_its_raw_schema(server_url: str, tmp_path: Path) -> None:
    langchain_tools = pytest.importorskip("langchain_core.tools")
    from trialbed import ApiRef, Tool, ToolSpec

    query = next(iter(open_dataset("mini", tmp_path).queries()))
    call, schema = (
        query.gold_calls[0],
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/b"}}, "$defs": {"b": {}}},
    )
    api = ApiRef(category=call.api.category, tool_name=call.api.tool_name, api_name=call.api.api_name)
    spec = ToolSpec(name="it", description="does it", parameters=schema, api=api)
    tool = Tool(spec, f"{server_url}/virtual").as_langchain()
    assert isinstance(tool, langchain_tools.StructuredTool)
    assert tool.tool_call_schema == {**schema, "description": "does it"}
    assert (tool.args, tool.api, tool.parameters) == (schema["properties"], api, schema)
    assert tool.metadata["original_name"] == api.title
    assert await tool.ainvoke({}) == await tool() == tool.run({})
