"""``evaluate``: agents of this program, beside frameworks in processes."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.evaluation import about, by_framework, counting, trials
from support.mcp_clients import over_http

from trialbed import (
    BaseAgent,
    Task,
    aevaluate,
    evaluate,
    open_store,
    scorer,
)


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


def test_an_answer_in_words_is_enough_and_a_fact_is_what_it_must_hold() -> None:
    evaluate({"right": lambda query: "It is Paris.", "wrong": lambda query: "It is Oslo."}, Task("?", expect="Paris"))
    assert by_framework("sopr_score") == {"right": [1.0], "wrong": [0.0]}
    assert by_framework("has_finish") == {"right": [1.0], "wrong": [1.0]}


def test_a_known_model_errs_as_it_always_does() -> None:
    evaluate("reference", [about("Paris")], model="scripted:wrong-args", repeat=2)
    assert by_framework("sopr_score") == {"reference": [0.0, 0.0]}
    (wrong, *_) = (trial.wire.api_calls[0] for trial in trials())
    assert wrong.error.startswith("Invalid arguments for population")


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


def test_async_code_holds_up_only_its_own_kind() -> None:
    """Each kind runs beside the run, so that an agent that blocks its event loop still gets its tool's answer."""
    threads: dict[str, str] = {}

    def note(kind: str) -> None:
        assert threading.current_thread() is not threading.main_thread()
        threads[kind] = threading.current_thread().name

    async def population(city: str) -> int:
        """The people of a city."""
        note("tool")
        return 709_037

    async def blocking(query: str, tools: Any) -> str:
        note("agent")
        return f"It is {tools[0].invoke({'city': 'Oslo'})}."

    async def asked(trial: Any) -> bool:
        note("scorer")
        verdict = await trial.judge.judge(trial.query, trial.answer, trial.wire)
        return bool(verdict.value)

    async def judging(query: Any, answer: Any, wire: Any) -> bool:
        note("judge")
        return "709" in answer.final_answer

    async def model(request: Any) -> str:
        note("model")
        return "It is 709037."

    task = Task("How many?", tools=[population])
    evaluate([blocking, "reference"], [task], model=model, judge=judging, scorers=[asked])
    assert by_framework("sopr_score") == {"blocking": [1.0], "reference": [1.0]}
    assert by_framework("asked") == {"blocking": [1.0], "reference": [1.0]}
    assert threads.keys() == {"tool", "agent", "scorer", "judge", "model"}


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


def test_the_page_of_a_trial_runs_programs_and_frameworks_again_and_no_object(tmp_path: Path) -> None:
    from trialbed_pages.runs import TrialPage

    (tmp_path / "agent.py").write_text("print('Paris')")
    evaluate([counting, "reference"], Task("?"), commands=["mine=python agent.py"])
    with open_store() as store:
        run = store.run("latest")
        commands = {trial.key.framework: TrialPage(run, trial, None).run_command for trial in run.trials()}
    assert commands["counting"] is None
    assert str(commands["reference"]).startswith("bench run -f reference -d ")
    assert str(commands["mine"]).startswith("bench run --command 'mine=python agent.py' -d ")


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


def test_calls_of_one_program_share_a_server_as_far_as_they_ask_for_the_same(tmp_path: Path) -> None:
    seen: list[str] = []

    def looking(question: str, base_url: str) -> str:
        seen.append(base_url.partition("/t/")[0])
        return "Paris"

    for cache in ("one.db", "one.db", "other.db"):
        evaluate(looking, Task("Which capital?", expect="Paris"), response_cache=tmp_path / cache)
    first, second, third = seen
    assert first == second != third
    with pytest.raises(httpx.ConnectError):
        httpx.get(f"{first}/healthz")
    assert httpx.get(f"{third}/healthz").status_code == 200
