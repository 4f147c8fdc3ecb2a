"""MASBench's public names, as its readme and its programs use them."""

from __future__ import annotations

import asyncio
import importlib
import json
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each
from support.judge_endpoint import judge_endpoint, vote

QUERY: dict[str, Any] = {
    "query_id": 1,
    "query": "Who is it?",
    "api_list": [
        {
            "category_name": "Geography",
            "tool_name": "Atlas of Tarnmere",
            "api_name": "City by name",
            "required_parameters": [{"name": "name", "type": "STRING", "default": "Ostrebridge"}],
        }
    ],
    "relevant APIs": [["Atlas of Tarnmere", "City by name"]],
}


def node(name: str, **arguments: Any) -> dict[str, Any]:
    message = json.dumps({"name": name, "arguments": arguments, "response": ""})
    return {"role": "tool", "message": message, "next": []}


def finished(text: str, *calls: str) -> dict[str, Any]:
    details = [*map(node, calls), node("Finish", return_type="give_answer", final_answer=text)]
    return {"answer": {"final_answer": text, "answer_details": details}}


@for_each(
    ("module", "names"),
    [
        ("run_benchmark", ("run_benchmark", "GoldAnswerGenerator", "calculate_api_call_score")),
        ("evaluation", ("StableToolBenchEvaluator",)),
        ("evaluation.evaluator_loader", ("EvaluatorLoader",)),
        ("tool_selection.selector", ("ToolSelector",)),
        ("utils", ("QueryLoader", "AnswerValidator", "get_printer", "print_header", "sanitize_tool_name")),
        ("utils.printer", ("print_success", "print_error", "print_summary")),
        ("agents.base_agent", ("BaseAgent",)),
    ],
)
def test_each_name_is_where_masbench_has_it(module: str, names: tuple[str, ...]) -> None:
    found = importlib.import_module(module)
    assert set(names) <= set(dir(found))


def test_an_agent_of_the_readme_runs_with_masbenchs_defaults(
    server_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from agents.base_agent import BaseAgent
    from langchain_core.tools import StructuredTool
    from run_benchmark import run_benchmark

    class Agent(BaseAgent):
        def bind_tools(self, tools: Any = None, tools_dir: Any = None, server_url: str = "") -> None:
            assert all(isinstance(tool, StructuredTool) for tool in tools)
            self.bound = tools

        def answer(self, query: str) -> dict[str, Any]:
            return finished(f"{len(self.bound)} tools")

    monkeypatch.chdir(tmp_path)
    document = run_benchmark(
        Agent(), "mini", 2, f"{server_url}/virtual", "rule", str(tmp_path / "mine"), "own", True, "bm25", 5,
        use_colors=True,
    )  # fmt: skip
    assert (document["metadata"]["selector"], document["metadata"]["max_tools"]) == ("bm25", 5)
    assert document["metadata"]["model"] is None  # it asked none
    assert [result["final_answer"] for result in document["results"]] == ["5 tools", "5 tools"]
    assert (tmp_path / "mine" / "own_mini.json").is_file()
    assert "task 1: Unsolved" in capsys.readouterr().err


def test_calls_and_scores_are_read_from_answers_as_masbench_reads_them() -> None:
    from run_benchmark import calculate_api_call_score, extract_called_apis_from_answer_details
    from utils import AnswerValidator

    answer = finished("it", "Ferry_route 1", "Ferry_route 2")
    called = extract_called_apis_from_answer_details(answer)
    assert called == [["Ferry", "route 1"], ["Ferry", "route 2"]]
    assert calculate_api_call_score(called, [["Ferry", "route 1"], ["Other", "x"]]) == 0.5
    assert calculate_api_call_score([], []) == 0.0
    assert AnswerValidator.check_has_finish(answer)
    assert AnswerValidator.validate_answer_structure(answer)
    assert not AnswerValidator.validate_answer_structure({"answer": {"final_answer": ""}})


def test_gold_apis_are_called_at_the_server_with_the_defaults(server_url: str) -> None:
    from run_benchmark import GoldAnswerGenerator, QueryLoader

    generator = GoldAnswerGenerator(f"{server_url}/virtual")
    (response,) = generator.execute_gold_apis(QUERY, QueryLoader.extract_gold_tool_calls(QUERY))
    assert (response["category"], response["parameters"]) == ("Geography", {"name": "Ostrebridge"})
    assert set(response["response"]) == {"error", "response"}
    answer = generator.generate_gold_answer(QUERY, [{**response, "response": {"error": "", "response": "it is"}}])
    assert answer["answer"]["final_answer"] == "it is"
    (gone,) = GoldAnswerGenerator("http://127.0.0.1:9/virtual").execute_gold_apis(QUERY, [["Tool", "api"]])
    assert (gone["category"], gone["response"]["error"][:13]) == ("Data", "Request error")


async def test_answers_are_judged_at_the_endpoint_of_openais_clients(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from evaluation import StableToolBenchEvaluator

    from trialbed import JudgeError

    monkeypatch.chdir(tmp_path)
    async with judge_endpoint() as served:
        monkeypatch.setenv("OPENAI_BASE_URL", served.url)
        evaluator = StableToolBenchEvaluator("grader")
        answer = finished("It is Mirel.", "Atlas of Tarnmere_City by name")
        served.gives(vote("Solved", "it says so"))
        result = await asyncio.to_thread(evaluator.evaluate_answer, QUERY, answer)
        status = await asyncio.to_thread(evaluator.check_is_solved, QUERY, answer)
    about = {"sopr_score": 1.0, "answer_status": "Solved", "reason": "it says so", "api_call_score": 1.0}
    assert about.items() <= result.items()
    assert (status, result["has_finish"]) == ("Solved", True)
    assert "Solved: SoPR 1.00" in capsys.readouterr().out
    with pytest.raises(JudgeError):  # MASBench guesses from the answer's length here
        await asyncio.to_thread(StableToolBenchEvaluator("grader", verbose=False).evaluate_answer, {}, finished("x"))


def test_queries_are_loaded_from_the_files_of_a_checkout(checkout: Path) -> None:
    from utils import QueryLoader

    folder = checkout / "single_agent" / "tool_use" / "StableToolBench" / "solvable_queries" / "test_instruction"
    loader = QueryLoader(query_instruction_dir=str(folder))
    (query,) = loader.load_queries("G1_tiny", 1)
    assert len(loader.load_queries("G1_tiny")) == 2
    assert loader.extract_gold_tool_calls(query) == [["Ferry", "route 1"]]
    assert loader.extract_gold_tool_calls({"api_list": query["api_list"]})[1] == ["Ferry", "route 2"]
    (tool,) = loader.extract_available_tools(query)
    assert (tool["category"], tool["tool_name"], len(tool["apis"])) == ("Data", "Ferry", 2)
