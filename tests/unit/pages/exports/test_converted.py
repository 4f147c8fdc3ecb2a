"""StableToolBench's converted format, as its evaluators read it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.scoring import NOON, api_call

from trialbed.answers import function_name, read_answer
from trialbed.records import (
    Answer,
    ApiCall,
    ApiRef,
    Failure,
    Finish,
    Outcome,
    Timing,
    ToolSpec,
    TrialKey,
    TrialResult,
    WireLog,
)
from trialbed_pages.exports.stabletoolbench import converted_answer

API = ApiRef(category="Data", tool_name="Keyword Analysis", api_name="PopularSitesForQuery")
TOOL = ToolSpec(
    name="k",
    description="Popular sites.",
    parameters={
        "type": "object",
        "properties": {"q": {"type": "string", "description": "the query", "default": "x"}, "n": {"type": "number"}},
        "required": ["q"],
    },
    api=API,
)


def trial(
    called: Sequence[ApiCall] = (), finish: Finish | None = "give_answer", failure: Failure | None = None
) -> TrialResult:
    answer = Answer(final_answer="Döviz ✓", finish=finish)
    return TrialResult(
        trial="token",
        key=TrialKey(framework="langgraph:native", query_id=588),
        seed=0,
        outcome=Outcome(started_at=NOON, wall_time=1, answer=answer, failure=failure),
        wire=WireLog(trial="token", opened_at=NOON, api_calls=tuple(called)),
        timing=Timing(wall=1, model=0, tool=0, framework=1),
        selected_tools=(),
    )


CALLED = [
    api_call("", {"q": "ä"}, api=API, response={"sites": ["a"]}),
    api_call("", "{bad", "parse error", api=API),
]


def converted(result: TrialResult) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(converted_answer("Which?", [TOOL], result)))
    return found


def steps(answer: dict[str, Any]) -> list[dict[str, Any]]:
    """What the evaluator sees: the first node, and each time the first of what follows."""
    found, nodes = [], answer["answer_details"]
    while nodes:
        found.append(nodes[0])
        nodes = nodes[0]["next"]
    return found


def test_a_trial_is_one_chain_that_ends_in_its_finish() -> None:
    found = converted(trial(CALLED))
    answer = found["answer"]
    assert [step["role"] for step in steps(answer)] == ["system", "user", "tool", "tool", "tool"]
    assert answer["total_steps"] == 5
    calls = [step["message"] for step in steps(answer)[2:]]
    assert [call["name"] for call in calls] == [*["popularsitesforquery_for_keyword_analysis"] * 2, "Finish"]
    assert [call["arguments"] for call in calls[:2]] == ['{"q": "ä"}', "{bad"]
    assert json.loads(calls[0]["response"]) == {"error": "", "response": {"sites": ["a"]}}
    assert json.loads(calls[1]["response"]) == {"error": "parse error", "response": ""}
    assert answer["final_answer"] == calls[2]["arguments"]
    assert json.loads(answer["final_answer"]) == {"return_type": "give_answer", "final_answer": "Döviz ✓"}


@pytest.mark.parametrize(
    "result", [trial(CALLED, finish=None), trial(CALLED, failure=Failure(kind="crash", message="it died"))]
)
def test_a_trial_that_did_not_finish_has_none_so_that_it_counts_as_unsolved(result: TrialResult) -> None:
    answer = converted(result)["answer"]
    assert answer["final_answer"] == ""
    assert "Finish" not in str(steps(answer)[-1]["message"])


def test_giving_up_is_told() -> None:
    assert "give_up_and_restart" in converted(trial(finish="give_up_and_restart"))["answer"]["final_answer"]


def test_tools_are_functions_and_the_last_is_finish() -> None:
    tool, finish = converted(trial())["available_tools"]
    assert tool == {
        "name": "popularsitesforquery_for_keyword_analysis",
        "description": "Popular sites.",
        "parameters": {
            "type": "object",
            "properties": {
                "q": {"type": "string", "description": "the query", "example_value": "x"},
                "n": {"type": "number", "description": ""},
            },
            "required": ["q"],
            "optional": ["n"],
        },
    }
    assert finish["name"] == "Finish"


def test_what_is_written_can_be_read() -> None:
    answer = read_answer(converted(trial(CALLED)), {function_name(API.tool_name, API.api_name): API})
    assert (answer.final_answer, answer.finish) == (
        '{"return_type": "give_answer", "final_answer": "Döviz ✓"}',
        "give_answer",
    )
    assert [(call.api, call.arguments) for call in answer.calls] == [(API, {"q": "ä"}), (API, "{bad")]


def test_names_are_standardised_and_keep_their_end() -> None:
    long = ApiRef(category="C", tool_name="t" * 80, api_name="id")
    assert function_name(long.tool_name, long.api_name) == "t" * 64
    assert function_name("3D Models", "id") == "is_id_for_get_3d_models"


def test_a_very_long_trial_can_still_be_written() -> None:
    assert converted(trial(CALLED * 500))["answer"]["total_steps"] == 203


@pytest.mark.parametrize("method", ["cot", "dfs"])
def test_the_form_is_that_of_stabletoolbenchs_own_sample(method: str, stabletoolbench_dir: Path) -> None:
    """Every key that the sample's entries, functions and nodes have, and none else; and we read what it holds."""
    folder = stabletoolbench_dir / "data_example" / "model_predictions_converted" / f"virtual_chatgpt_{method}"
    if not folder.exists():
        pytest.skip("needs StableToolBench's sample of answers")
    file = folder / "G1_instruction.json"
    for sample in json.loads(file.read_text(encoding="utf-8")).values():
        ours = converted(trial(CALLED))
        assert ours.keys() == sample.keys()
        assert ours["answer"].keys() == sample["answer"].keys()
        for mine, theirs in zip(ours["available_tools"][:1], sample["available_tools"][:1], strict=True):
            assert mine.keys() == theirs.keys()
            assert mine["parameters"].keys() == theirs["parameters"].keys()
        kinds = {kind(step): set(step) for step in steps(sample["answer"])}
        assert {kind(step): set(step) for step in steps(ours["answer"])}.items() <= kinds.items()
        assert len(steps(sample["answer"])) == sample["answer"]["total_steps"]
        assert read_answer(sample, {}).calls


def kind(step: dict[str, Any]) -> tuple[str, str]:
    """A node's role, and what its message is made of."""
    message = step["message"]
    if isinstance(message, str):
        return step["role"], "text"
    return step["role"], ",".join(f"{key}:{type(value).__name__}" for key, value in sorted(message.items()))
