"""``bench score`` on files of conversations."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner, Result
from support.stored_runs import BEGUN, add_begun_run, trial

from trialbed.cli import cli
from trialbed.errors import DataError, UsageError
from trialbed.records import ApiRef, GoldCall, Query
from trialbed.store import Store, counted_attempts
from trialbed_scripted import ModelTurn, ReceivedRequest, ScriptedServer, say, serve

RIGHT = {
    "id": "right",
    "predicted": [{"name": "f", "args": {"x": "a"}}],
    "reference": [{"name": "f", "args": {"x": "A"}}],
}
WRONG = {
    "id": "wrong\u202e",
    "predicted": [{"name": "f", "args": {"x": 3}}],
    "reference": [{"name": "f", "args": {"x": 2}}, {"name": "g", "args": {}}],
}
TALK = {
    "id": "talk",
    "messages": [{"role": "user", "content": "Relativity? Cake?"}, {"role": "assistant", "content": "E = mc²."}],
    "reference_topics": ["science"],
    "reference_goal": "Relativity is explained.",
}

JUDGE = """\
from trialbed.contracts import Judge, Verdict


class Mine(Judge):
    async def judge(self, query, answer, wire):
        return Verdict(status="Unsolved", value=0.0, reason="never", votes=("Unsolved",))
"""

WEATHER = GoldCall(api=ApiRef(category="C", tool_name="Weather", api_name="now"), arguments={"city": "Ulm"})

Run = Callable[..., Result]
Know = Callable[..., None]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return lambda *arguments: CliRunner().invoke(cli, ["score", *arguments], standalone_mode=False)


@pytest.fixture
def know_queries(monkeypatch: pytest.MonkeyPatch) -> Know:
    """Lets the dataset of the stored runs have their queries, of which each expects these calls."""

    def know(*gold: GoldCall) -> None:
        queries = {name: Query(query_id=name, text=f"{name}?", apis=(), gold_calls=gold) for name in (1, "a/b")}
        monkeypatch.setattr("trialbed.catalogs.run_queries", lambda config, folder: queries)

    return know


def write(name: str, *values: Any) -> str:
    Path(name).write_text("\n".join(map(json.dumps, values)), encoding="utf-8")
    return name


def refused(result: Result, kind: type[Exception], said: str) -> None:
    assert isinstance(result.exception, kind), result.output
    assert said in str(result.exception)


def test_means_and_why_a_call_went_wrong(run: Run) -> None:
    result = run(write("calls.jsonl", RIGHT, WRONG))
    assert result.return_value == 0
    assert "calls.jsonl, 2 samples" in result.output
    (row,) = (line for line in result.output.splitlines() if line.startswith("tool_call_accuracy  "))
    assert row.split() == ["tool_call_accuracy", "0.5000", "0.0945-0.9055", "2", "0"]
    assert "wrong? (calls.jsonl:2)" in result.output
    assert "x: 3 instead of 2 (number) 0.00" in result.output
    assert "reference 2  g(): missing 0.00" in result.output
    assert "right (calls.jsonl:1)" not in result.output


def test_json_has_every_sample_with_its_diagnosis(run: Run) -> None:
    document = json.loads(run(write("calls.jsonl", RIGHT, WRONG), "--json", "--metric", "tool_call_f1").output)
    assert document["summary"]["tool_call_f1"]["mean"] == 0.5
    assert [entry["scores"] for entry in document["results"]] == [{"tool_call_f1": 1.0}, {"tool_call_f1": 0.0}]
    assert document["results"][1]["details"]["tool_call_f1"]["calls"][0]["status"] == "wrong arguments"


def test_ragas_values(run: Run) -> None:
    document = json.loads(run(write("calls.jsonl", RIGHT), "--compat", "ragas", "--json").output)
    assert document["results"][0]["scores"] == {"tool_call_accuracy": 0.0, "tool_call_f1": 0.0}


def test_order_rules_and_tools(run: Run) -> None:
    made = [{"name": "g", "args": {}}, {"name": "f", "args": {"x": "b"}}]
    write("calls.jsonl", {"predicted": made, "reference": [RIGHT["predicted"][0], {"name": "g", "args": {}}]})
    write(
        "tools.json",
        {
            "tools": [
                {"type": "function", "function": {"name": "f", "parameters": {"properties": {"x": {"enum": ["a"]}}}}}
            ]
        },
    )
    accuracy = ("--metric", "tool_call_accuracy", "--json", "--order", "flexible", "--tools", "tools.json")

    def value(*more: str) -> float:
        return float(json.loads(run("calls.jsonl", *accuracy, *more).output)["summary"]["tool_call_accuracy"]["mean"])

    assert value() == 0.5
    assert value("--rule", "f.x=ignore") == 1.0


def test_a_sample_does_not_count_twice(run: Run) -> None:
    write("calls.jsonl", RIGHT, WRONG, {**WRONG, "id": "right"})
    refused(run("calls.jsonl"), DataError, "calls.jsonl:3: id: 'right' occurs twice, first at calls.jsonl:1")
    write("calls.jsonl", *({name: value for name, value in one.items() if name != "id"} for one in (RIGHT, RIGHT)))
    assert run("calls.jsonl").return_value == 0


def test_references_of_their_own(run: Run) -> None:
    write("talks.jsonl", {"id": 1, "messages": [{"role": "assistant", "tool_calls": RIGHT["predicted"]}]}, {**TALK})
    refused(run("talks.jsonl"), UsageError, "no sample has what a metric needs")
    write("right.jsonl", {"id": 1, "reference": RIGHT["reference"]}, {"id": 9, "reference": []})
    result = run("talks.jsonl", "--reference", "right.jsonl")
    assert "tool_call_f1        1.0000" in result.output
    assert "tool_call_f1: 1 without a value: it has no reference calls" in result.output
    assert "1 of its ids do not occur in talks.jsonl, such as '9'" in result.output
    write("right.jsonl", {"id": 9, "reference": []})
    refused(run("talks.jsonl", "--reference", "right.jsonl"), DataError, "none of its ids occurs in talks.jsonl")


def test_thresholds(run: Run) -> None:
    write("calls.jsonl", RIGHT, WRONG)
    assert run("calls.jsonl", "--fail-under", "tool_call_f1=0.5").return_value == 0
    result = run("calls.jsonl", "--fail-under", "tool_call_f1=0.6")
    assert result.return_value == 1
    assert "tool_call_f1 is 0.5, below 0.6" in result.output
    refused(run("calls.jsonl", "--fail-under", "f1=0.6"), UsageError, "'f1' was not scored")


def answer(request: ReceivedRequest) -> ModelTurn:
    said = request.asked.messages[-1].text
    if "List the topics" in said:
        found: dict[str, Any] = {"topics": ["relativity", "cake"]}
    elif "refused" in said:
        found = {"refused_to_answer": '"topic": "cake"' in said}
    elif "classifications" in said:
        found = {"classifications": [True, False]}
    elif "user_goal" in said:
        found = {"user_goal": "know", "end_state": "knows"}
    else:
        found = {"verdict": "1", "reason": "It is explained."}
    return say(f"```json\n{json.dumps(found)}\n```")


def test_a_model_answers_the_steps(run: Run) -> None:
    write("talk.jsonl", TALK)
    with serve(answer) as model:
        document = json.loads(run("talk.jsonl", "--judge", "m", "--base-url", model.url, "--json").output)
    assert document["results"][0]["scores"] == {
        "topic_adherence": 1.0,
        "topic_adherence_precision": 1.0,
        "topic_adherence_recall": 1.0,
        "agent_goal_accuracy": 1.0,
    }
    assert document["results"][0]["details"]["agent_goal_accuracy"]["reason"] == "It is explained."


def test_answers_of_no_use_are_no_scores(run: Run) -> None:
    write("talk.jsonl", TALK)
    with serve(lambda _: say("I would rather not.")) as model:
        result = run("talk.jsonl", "--judge", "m", "--base-url", model.url)
    assert result.return_value == 3
    assert "it is not a JSON object: 'I would rather not.'" in result.output


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--metric", "bleu"), "there is no metric 'bleu'"),
        (("--rule", "x"), "does not have the form ARGUMENT=RULE"),
        (("--rule", "x=magic"), "there is no rule 'magic'"),
        (("--rule", "x=text", "--rule", "x=exact"), "'x' has two rules, 'text' and 'exact'"),
        (("--rule", "x=text", "--compat", "ragas"), "takes no rules"),
        (("--base-url", "http://localhost:1/v1"), "give --judge MODEL"),
        (("--judge", "m"), "needs an endpoint"),
        (("--fail-under", "tool_call_f1=2"), "tool_call_f1: 2 is not a share; give a number from 0 to 1"),
    ],
)
def test_wrong_options(run: Run, options: tuple[str, ...], said: str) -> None:
    refused(run(write("calls.jsonl", RIGHT), *options), UsageError, said)


def test_a_stored_run_is_scored_by_a_new_scorer(bench: Run, know_queries: Know) -> None:
    know_queries(WEATHER)
    code = "from trialbed import scorer\n\n@scorer\ndef words(trial): return {}\n\ndef plain(trial): return 0.5\n"
    for value in (0.25, 0.125):  # its own earlier value is replaced
        Path("mine.py").write_text(code.format(value), encoding="utf-8")
        result = bench("score", "latest", "--scorer", "mine.py")
        assert result.exception is None, repr(result.exception)
        assert f"words {value:.4f}" in " ".join(result.output.split())
    assert bench("score", "latest", "--scorer", "mine.py:plain", "--fail-under", "plain=0.6").return_value == 1
    refused(bench("score", "latest", "--scorer", "mine.py:none"), DataError, "there is no function 'none'")
    refused(bench("score", "latest", "--scorer", "mine.py", "--judge", "rule"), UsageError, "cannot be combined")


def test_a_judge_in_a_file_judges_a_stored_run(
    bench: Run, stored: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, know_queries: Know
) -> None:
    monkeypatch.setenv("TRIALBED_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("TRIALBED_STORE", str(stored))
    monkeypatch.setenv("PYTHONPATH", os.environ.get("PYTHONPATH", ""))
    monkeypatch.setattr(sys, "path", [*sys.path])
    know_queries()
    Path("mine.py").write_text(JUDGE)
    result = bench("score", "latest", "--judge", "./mine.py:Mine", "--json")
    assert result.exception is None, repr(result.exception)
    documents = json.loads(result.stdout)
    assert {document["metadata"]["judge"]["driver"] for document in documents} == {"mine.Mine"}
    assert [document["summary"]["unsolved_count"] for document in documents] == [2, 2]
    refused(bench("score", "latest", "--judge", "./mine.py:Mien"), UsageError, "has no 'Mien'; did you mean 'Mine'?")


def test_documents_have_the_new_verdicts(bench: Run, tmp_path: Path, know_queries: Know) -> None:
    know_queries(WEATHER)
    result = bench("score", "latest", "--judge", "rule", "--output", tmp_path / "rejudged")
    assert result.exception is None, repr(result.exception)
    documents = [json.loads(path.read_text()) for path in sorted((tmp_path / "rejudged").glob("*_mini.json"))]
    assert len(documents) == 2
    lines = result.stdout.splitlines()
    (head,) = (place for place, line in enumerate(lines) if line.startswith("framework "))
    assert lines[head].split(maxsplit=3) == ["framework", "sopr_score", "sopr_score@rule", "same status  no verdict"]
    assert [line.split() for line in lines[head + 2 : head + 4]] == [
        ["reference", "1.0000", "0.0000", "0", "of", "2", "0"],
        ["langgraph:native", "0.0000", "0.0000", "1", "of", "1", "0"],
    ]
    assert [document["summary"]["average_sopr_score"] for document in documents] == [0.0, 0.0]
    shown = [[entry["scores"]["sopr_score"] for entry in document["results"]] for document in documents]
    assert shown == [[0.0, 0.0], [0.0, 0.0]]


def test_a_run_that_lacks_no_score_is_said_to_lack_none(bench: Run, know_queries: Know) -> None:
    know_queries()
    first, second = bench("score", "latest").stdout, bench("score", "latest").stdout
    assert "Scores that the trials lacked; the others are unchanged." in first
    assert second.splitlines() == ["run 20260202T120000-bbbbbb", "No score was missing."]


def test_a_run_that_lacks_trials_is_judged_over_those_of_every_framework(
    bench: Run, stored: Path, know_queries: Know
) -> None:
    know_queries()
    add_begun_run(stored)
    with Store.open(str(stored)) as store:
        for framework, query_id in (("reference", 1), ("reference", "a/b"), ("langgraph:native", 1)):
            store.add_trial(BEGUN, trial(framework, query_id, wrong=query_id == 1))
        store.update_run(BEGUN, status="incomplete")
    text = bench("score", "latest", "--judge", "rule").output
    assert "INCOMPLETE: the run is incomplete; the figures are over the 1 tasks and repeats" in text
    rows = [line.split() for line in text.splitlines() if line.startswith(("reference ", "langgraph:native "))]
    assert rows == [[name, "0.0000", "1.0000", "0", "of", "1", "0"] for name in ("reference", "langgraph:native")]


def graded(model: ScriptedServer) -> int:
    """The requests of the judge that got a verdict."""
    return sum("a/b?" not in json.dumps(request.document["messages"]) for request in model.requests)


def test_answers_without_a_verdict_are_no_success(bench: Run, know_queries: Know) -> None:
    know_queries()

    def refuses_one(request: ReceivedRequest) -> ModelTurn:
        refused = "a/b?" in json.dumps(request.document["messages"])
        return say("I would rather not." if refused else json.dumps({"reason": "ok", "answer_status": "Solved"}))

    with serve(refuses_one) as model:
        arguments = ("score", "latest", "--judge", "grader", "--base-url", model.url)
        result = bench(*arguments, "--fail-under", "sopr_score=0.1")
        paid = graded(model)
        document = json.loads(bench(*arguments, "--json").stdout)[0]
        assert graded(model) == paid > 0
    assert result.exception is None, repr(result.exception)
    assert result.return_value == 3, result.output
    assert "Error: 1 answer has no verdict. --fail-under is not decided. The same command asks again." in result.output
    assert "no verdict" in result.output
    assert "Each mean is over the answers with a verdict" in result.output
    assert "The judge grader is uncalibrated" in result.output
    assert document["summary"]["untold_scores"] == {"sopr_score": 1}


def test_a_signal_ends_scoring_and_keeps_what_was_given(
    bench: Run, stored: Path, monkeypatch: pytest.MonkeyPatch, know_queries: Know
) -> None:
    know_queries()
    add, sent = Store.add_scores, threading.Event()

    def add_and_end(self: Store, *given: Any) -> None:
        add(self, *given)
        if not sent.is_set():  # a second signal, after the command has ended, would end this process
            sent.set()
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(Store, "add_scores", add_and_end)
    result = bench("score", "latest", "--judge", "rule", "--concurrency", "1")
    assert isinstance(result.exception, click.Abort)
    with Store.open(str(stored)) as store:
        results = counted_attempts(store.each_attempt(store.runs()[0].run_id))
    assert any(result.score("sopr_score@rule") for result in results)
