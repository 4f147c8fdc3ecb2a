"""``evaluate``: agents of this program, beside frameworks in processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
from support.evaluation import about, by_framework, counting, trials
from support.mcp_clients import over_http

from trialbed import BaseAgent, Task, aevaluate, evaluate, scorer


def test_functions_and_frameworks_do_the_same_tasks_with_the_same_tools() -> None:
    @scorer
    def short(trial: Any) -> bool:
        """Whether the answer is short."""
        assert trial.query.text.startswith("How many")
        assert [done.api.api_name for done in trial.calls] == ["population"]
        return len(trial.text) < 20

    evaluate([counting, "reference"], [about("Paris"), about("Oslo")], scorers=[short])
    assert by_framework("sopr_score") == {"counting": [1.0, 1.0], "reference": [1.0, 1.0]}
    assert by_framework("api_call_score") == {"counting": [1.0, 1.0], "reference": [1.0, 1.0]}
    assert by_framework("short") == {"counting": [1.0, 1.0], "reference": [0.0, 0.0]}
    assert {done.provenance for trial in trials() for done in trial.wire.api_calls} == {"function"}


async def test_an_agent_is_given_what_it_asks_for() -> None:
    seen: list[Any] = []

    async def asking(question: str, endpoint: Any, base_url: str, api_key: str, model: str, more: int = 3) -> str:
        seen.append((question, endpoint.base_url == base_url, model, more))
        async with httpx.AsyncClient() as client:
            asked = {"model": model, "messages": [{"role": "user", "content": question}]}
            reply = await client.post(f"{base_url}/chat/completions", json=asked, headers={"X-Key": api_key})
        return str(reply.json()["choices"][0]["message"]["content"])

    await aevaluate(asking, Task("Are you there?"), model="scripted:none")
    assert seen == [("Are you there?", True, "gpt-4o", 3)]
    (trial,) = trials()
    assert len(trial.wire.model_calls) == 1


@pytest.mark.filterwarnings("ignore:Use `streamable_http_client`:DeprecationWarning")
def test_tools_come_in_the_form_that_an_agent_asks_for() -> None:
    def typed(query: str, functions: Any) -> str:
        return f"{functions[0](city='Paris')} by {functions[0].__name__}"

    async def typed_async(query: str, functions: Any) -> str:
        return str(await functions[0]("Paris"))

    def langchain(query: str, langchain_tools: Any) -> str:
        (tool,) = langchain_tools
        return str(tool.invoke({"city": "Paris"}))

    def definitions(query: str, tools: Any, openai_tools: Any) -> str:
        (one,) = openai_tools
        assert one["function"]["parameters"]["required"] == ["city"]
        return str(next(tool for tool in tools if tool.name == one["function"]["name"]).invoke({"city": "Paris"}))

    async def protocol(query: str, mcp_url: str) -> str:
        async with over_http(mcp_url) as session:
            (tool,) = (await session.list_tools()).tools
            return str((await session.call_tool(tool.name, {"city": "Paris"})).content[0].text)

    agents = [typed, typed_async, langchain, definitions, protocol]
    evaluate(agents, [about("Paris")])
    assert by_framework("sopr_score") == {agent.__name__: [1.0] for agent in agents}
    assert by_framework("api_call_score") == {agent.__name__: [1.0] for agent in agents}


def test_classes_are_made_for_each_trial_and_objects_keep_what_they_have() -> None:
    class Fresh(BaseAgent):
        async def answer(self, query: str) -> str:
            self.asked = [*getattr(self, "asked", []), query]
            return f"{len(self.asked)} {self.endpoint.base_url.startswith('http')}"

    class Kept:
        def __init__(self) -> None:
            self.asked: list[str] = []

        def answer(self, query: str) -> str:
            self.asked.append(query)
            return str(len(self.asked))

    kept = Kept()
    evaluate({"fresh": Fresh, "kept": kept}, [Task("One?"), Task("Two?")])
    said = {(trial.key.framework, trial.outcome.answer.final_answer) for trial in trials()}
    assert said == {("fresh", "1 True"), ("kept", "1"), ("kept", "2")}
    assert sorted(kept.asked) == ["One?", "Two?"]


def test_an_agent_that_asks_for_what_is_not_served_and_raises_has_failed_itself() -> None:
    def lost(query: str, base_url: str) -> str:
        assert httpx.get(f"{base_url}/nope").status_code == 404
        raise ValueError("the agent's own error")

    report = evaluate(lost, [about("Paris")])
    assert report["lost"].scores["sopr_score"].value == 0.0
    (trial,) = trials()
    assert trial.outcome.failure is not None
    assert trial.outcome.failure.kind == "agent"
    assert "the agent's own error" in trial.outcome.failure.message


def test_what_is_shown_of_an_agent_without_a_model_of_the_run_blames_no_call(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from trialbed.cli import main

    report = evaluate(counting, [about("Paris")])
    assert not Path("results").exists()
    assert report["counting"].scores["sopr_score"].value == 1.0
    assert "solved" in str(report)
    assert "<table" in report._repr_html_()
    capsys.readouterr()
    assert main(["show", "latest", "counting/1"]) == 0
    shown = capsys.readouterr().out
    assert "expected: population {" in shown
    assert "no answer of the model asked for it" not in shown
    assert "not called" not in shown
