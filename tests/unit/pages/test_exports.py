"""``bench export``: the trials of a run as lines, and in StableToolBench's converted format for its evaluators."""

from __future__ import annotations

import gc
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from support.garbage import leave_out_what_stays
from support.scoring import NOON, api_call
from support.stored_runs import BEGUN, NEW, add_begun_run
from support.stored_runs import run as stored_run
from support.stored_runs import trial as stored_trial

from trialbed.answers import function_name, read_answer
from trialbed.errors import DataError
from trialbed.records import (
    Annotation,
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
from trialbed.store import Store, open_store
from trialbed_pages.exports import converted_answer, export_stabletoolbench, trial_lines


def test_each_line_is_a_trial_with_all_of_it_though_its_dataset_and_frameworks_are_gone(
    bench: Any, stored: Path, tmp_path: Path
) -> None:
    with Store.open(str(stored)) as store:
        store.annotate(NEW, Annotation(framework="reference", query_id=1, rating="wrong", note="no source"))
    lines = [json.loads(line) for line in bench("export", NEW).stdout.splitlines()]
    setups = ("reference", "langgraph:native")
    assert [(line["framework"], line["query_id"]) for line in lines] == [(a, b) for a in setups for b in (1, "a/b")]
    first, *_, last = lines
    assert (first["run_id"], first["model"], first["query_text"]) == (NEW, "scripted:gold", None)
    assert (first["status"], first["scores"]["sopr_score"]) == ("answered", 1.0)
    assert first["annotation"] == {"rating": "wrong", "note": "no source", "correction": ""}
    assert last["trial"]["outcome"]["failure"]["message"].startswith("ValueError")
    with open_store(str(stored)) as reader:
        assert TrialResult.model_validate(first["trial"]) == reader.run(NEW).trial("reference", 1)
    path = tmp_path / "trials.jsonl"
    assert f"written: {path} (4 trials)" in bench("export", NEW, "--output", path).output
    assert [json.loads(line) for line in path.read_text().splitlines()] == lines
    # A pipe or a device is written to, and not replaced.
    assert "written: /dev/null (4 trials)" in bench("export", NEW, "--output", "/dev/null").output


def test_what_is_missing_is_said_and_nothing_is_written_without_trials(
    bench: Any, stored: Path, tmp_path: Path
) -> None:
    add_begun_run(stored)
    assert f"INCOMPLETE: run {BEGUN} is" in bench("export", BEGUN).stderr
    out = tmp_path / "out"
    with open_store(str(stored)) as reader, pytest.raises(DataError, match=f"run {BEGUN} is interrupted and has no"):
        list(export_stabletoolbench(reader.run(BEGUN), {}, out))
    assert not out.exists()


def test_an_export_replaces_a_file_only_when_it_is_whole(
    bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "trials.jsonl"
    path.write_text("earlier\n")

    def one_then_fail(*_: Any) -> Any:
        yield {"a": 1}
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("trialbed_pages.exports.trial_lines", one_then_fail)
    assert bench("export", NEW, "--output", path).exit_code != 0
    assert path.read_text() == "earlier\n"


def test_an_export_holds_a_part_of_the_trials(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialbed.store._stored.IN_PART", 5)
    queries, held = tuple(range(40)), list[int]()
    one = stored_trial("reference", 0, wrong=False)
    made = stored_run(BEGUN, NOON, ("reference",))
    with Store.open(str(stored)) as store:
        store.create_run(made.model_copy(update={"config": made.config.model_copy(update={"query_ids": queries})}))
        keys = [one.key.model_copy(update={"query_id": query}) for query in queries]
        store.add_trials(BEGUN, [one.model_copy(update={"key": key}) for key in keys])
    leave_out_what_stays()
    with open_store(str(stored)) as reader:
        for place, _ in enumerate(trial_lines(reader.run(BEGUN))):
            if place % 13 == 12:
                held.append(sum(isinstance(found, TrialResult) for found in gc.get_objects()))
        assert place == 39
    # Those of the test itself, of which there is one, and a part.
    assert max(held) <= 1 + 5 + 1


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


def made(
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
    found = converted(made(CALLED))
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
    assert "give_up_and_restart" in converted(made(finish="give_up_and_restart"))["answer"]["final_answer"]
    assert converted(made(CALLED * 500))["answer"]["total_steps"] == 203


@pytest.mark.parametrize(
    "result", [made(CALLED, finish=None), made(CALLED, failure=Failure(kind="crash", message="it died"))]
)
def test_a_trial_that_did_not_finish_has_none_so_that_it_counts_as_unsolved(result: TrialResult) -> None:
    answer = converted(result)["answer"]
    assert answer["final_answer"] == ""
    assert "Finish" not in str(steps(answer)[-1]["message"])


def test_tools_are_functions_and_the_last_is_finish() -> None:
    tool, finish = converted(made())["available_tools"]
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
    answer = read_answer(converted(made(CALLED)), {function_name(API.tool_name, API.api_name): API})
    assert (answer.final_answer, answer.finish) == (
        '{"return_type": "give_answer", "final_answer": "Döviz ✓"}',
        "give_answer",
    )
    assert [(call.api, call.arguments) for call in answer.calls] == [(API, {"q": "ä"}), (API, "{bad")]


@pytest.mark.parametrize("method", ["cot", "dfs"])
def test_the_form_is_that_of_stabletoolbenchs_own_sample(method: str, stabletoolbench_dir: Path) -> None:
    """Every key that the sample's entries, functions and nodes have, and none else; and we read what it holds."""
    folder = stabletoolbench_dir / "data_example" / "model_predictions_converted" / f"virtual_chatgpt_{method}"
    if not folder.exists():
        pytest.skip("needs StableToolBench's sample of answers")
    file = folder / "G1_instruction.json"
    for sample in json.loads(file.read_text(encoding="utf-8")).values():
        ours = converted(made(CALLED))
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
