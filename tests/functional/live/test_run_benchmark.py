"""Agents that are live objects, counted by what they send."""

from __future__ import annotations

import asyncio
import json
import socket
from pathlib import Path
from typing import Any

import httpx
import pytest
from openai import OpenAI

from trialbed import Query, arun_benchmark, run_benchmark
from trialbed.catalogs import open_dataset
from trialbed.errors import UsageError


class SelfMade:
    """Posts to the server by itself, asks the model by itself, and writes down what it did by hand."""

    def __init__(self, server: str, gold: dict[str, Any]) -> None:
        self.virtual = f"{server}/virtual"
        self.model = OpenAI(base_url=f"{server}/v1", api_key="none", max_retries=0)
        self.gold = gold

    def answer(self, query: str) -> dict[str, Any]:
        nodes = []
        for call in self.gold[query]:
            payload = {
                "category": call.api.category,
                "tool_name": call.api.tool_name,
                "api_name": call.api.api_name,
                "tool_input": call.arguments,
                "strip": "",
                "toolbench_key": "EMPTY",
            }
            reply = httpx.post(self.virtual, json=payload).json()
            message = {"name": call.api.title, "arguments": call.arguments, "response": reply["response"]}
            nodes.append({"role": "tool", "message": json.dumps(message), "next": []})
        completion = self.model.chat.completions.create(
            model="any", messages=[{"role": "user", "content": query + json.dumps(nodes)}]
        )
        text = f"{completion.choices[0].message.content} {json.dumps(nodes)}"
        finish = {"name": "Finish", "arguments": {"return_type": "give_answer", "final_answer": text}, "response": ""}
        nodes.append({"role": "tool", "message": json.dumps(finish), "next": []})
        return {"answer": {"final_answer": text, "answer_details": nodes}}


@pytest.fixture
def gold(tmp_path: Path) -> dict[str, Any]:
    return {query.text: query.gold_calls for query in open_dataset("mini", tmp_path).queries()}


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_an_agent_that_posts_by_itself_is_counted_and_scored(
    server_url: str, gold: dict[str, Any], tmp_path: Path
) -> None:
    agent = SelfMade(server_url, gold)
    document = run_benchmark(agent, "mini", 5, f"{server_url}/virtual", agent_name="self_made", model="scripted:none")
    assert document["summary"]["error_count"] == 0
    for result in document["results"]:
        assert result["scores"]["api_call_score"] == 1.0
        assert result["scores"]["answer_status"] == "Solved", result["scores"]
        assert result["scores"]["has_finish"] is True
        assert result["scores"]["claimed_vs_observed"] == 1.0
        assert result["scores"]["model_turns"] == 1
    written = json.loads((tmp_path / "results" / "tools" / "self_made_mini.json").read_text())
    assert written["results"] == document["results"]


def test_a_server_is_started_where_none_answers(gold: dict[str, Any]) -> None:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        url = f"http://localhost:{found.getsockname()[1]}"
    document = run_benchmark(
        SelfMade(url, gold), "mini", 2, f"{url}/virtual", agent_name="alone", model="scripted:none"
    )
    assert document["summary"]["average_api_call_score"] == 1.0


async def test_async_callers_await_the_same(
    server_url: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Async:
        async def answer(self, query: str) -> dict[str, Any]:
            await asyncio.sleep(0)
            return {"answer": {"final_answer": "no idea", "answer_details": []}}

    document = await arun_benchmark(
        Async(),
        "mini",
        2,
        server_url,
        agent_name="async",
        output_dir=str(tmp_path / "mine"),
        verbose=True,
        use_colors=True,
    )
    assert document["metadata"]["agent_name"] == "async"
    assert (tmp_path / "mine" / "async_mini.json").exists()
    ended = capsys.readouterr().err.splitlines()
    assert [line.partition(",")[0] for line in ended] == ["task 1: Unsolved", "task 2: Unsolved"]
    with pytest.raises(UsageError, match="arun_benchmark"):
        run_benchmark(Async(), "mini", 1, server_url)


def test_queries_and_tasks_are_a_test_set(server_url: str) -> None:
    def capital(query: str) -> str:
        return "It is Paris."

    queries = [Query(query_id="q", text="The capital of France?", apis=(), reference_facts=("Paris",))]
    document = run_benchmark(capital, queries, server_url=server_url)
    assert document["metadata"]["test_set"] == "tasks"
    (result,) = document["results"]
    assert (result["query_id"], result["scores"]["answer_status"]) == ("q", "Solved")
    with pytest.raises(UsageError, match=r"tasks: 'What\?' is not a task"):
        run_benchmark(capital, ["What?"], server_url=server_url)  # type: ignore[list-item]


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"bogus": 1}, "run_benchmark: unknown setting 'bogus'"),
        ({"use_tool_selector": True, "tool_selector_model": "bm52"}, "no selector 'bm52'; did you mean 'bm25'"),
        (
            {"use_tool_selector": True, "tool_selector_model": "gpt-4o-mini"},
            "--selector-model: the model 'gpt-4o-mini' needs an endpoint",
        ),
        ({"evaluator_model": "gpt-4o-mini"}, "--base-url|base_url"),
    ],
)
def test_wrong_settings_say_what_there_is(server_url: str, settings: dict[str, Any], says: str) -> None:
    class Agent:
        def answer(self, query: str) -> dict[str, Any]:
            raise AssertionError("must not be asked")

    with pytest.raises(UsageError, match=says):
        run_benchmark(Agent(), "mini", 1, server_url, **settings)
