"""Criteria in words, which a model judges."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.bench import bare_environment, bench_in

from trialbed import Expect, Task, call, evaluate
from trialbed.errors import UsageError
from trialbed_scripted import ModelTurn, say, serve

pytestmark = pytest.mark.slow(15)

FILE = """
tools:
  - function:
      name: find_order
      description: Find an order.
      parameters: {type: object, properties: {id: {type: integer}}, required: [id]}
    example: {price: number}
tasks:
  - id: price
    query: How much did order 7 cost?
    expect: {calls: [{find_order: {id: 7}}], criteria: The answer has a price.}
    tests:
      - {name: looks once, at_most: {calls: 1}}
      - {name: is kind, criteria: The answer is kind.}
"""


def grade(request: Any) -> ModelTurn:
    """A model that finds all criteria met which speak of a price."""
    criterion = json.loads(request.document["messages"][1]["content"])["criterion"]
    return say(json.dumps({"reason": "so I find", "met": "price" in criterion}))


def test_a_model_judges_criteria_and_its_tokens_are_the_judges() -> None:
    def find_order(id: int) -> dict[str, float]:  # noqa: A002 - the tool's own word
        """Find an order."""
        return {"price": 12.5 + 0 * id}

    def task(criterion: str) -> Task:
        expect = Expect(calls=[call("find_order", id=7)], criteria=criterion)
        return Task("How much?", tools=[find_order], expect=expect, id=criterion)

    tasks = [task("It has a price."), task("It is kind.")]
    with pytest.raises(UsageError, match="has criteria, which a model must judge: give --judge-model"):
        evaluate("reference", tasks)
    with serve(grade) as server:
        judging = {"judge_model": "grader", "judge_votes": 3, "base_url": server.url}
        report = evaluate("reference", tasks, model="scripted:gold", **judging)
    trials = sorted(report.trials(), key=lambda trial: str(trial.key.query_id))
    right, wrong = (trial.score("sopr_score") for trial in trials)
    assert right is not None
    assert wrong is not None
    assert (right.value, wrong.value) == (1, 0)
    assert wrong.detail["reason"] == "1 of 2 expectations are not met: criterion: It is kind.: so I find"
    (use,) = report.run.helpers
    assert (use.role, use.model, use.requests) == ("judge", "grader", 6)
    assert use.tokens > 0


CASES = [
    {"id": f"{answer}", "query": "How much?", "answer": f"{answer} dollars", "label": label, "criterion": criterion}
    for answer, (criterion, label) in enumerate([("It has a price.", "Solved"), ("It is kind.", "Unsolved")] * 20)
]


def test_a_model_that_reads_criteria_is_calibrated_on_them(tmp_path: Path) -> None:
    (tmp_path / "desk.yaml").write_text(FILE, encoding="utf-8")
    CASES[0]["label"] = "Unsolved"
    (tmp_path / "cases.jsonl").write_text("\n".join(map(json.dumps, CASES)), encoding="utf-8")
    bench = bench_in(tmp_path, bare_environment(tmp_path, OPENAI_API_KEY="k"))
    with serve(grade) as server:
        judge = ("--judge-model", "grader", "--base-url", server.url)
        bench("run", "-d", "desk.yaml", "-m", "scripted:gold", *judge)
        before = bench("show", "latest", "--full").out
        measured = bench("judge", "calibrate", "cases.jsonl", *judge)
        bench("run", "-d", "desk.yaml", "-m", "scripted:gold", "--fresh", *judge)
        after = bench("show", "latest", "--full").out
    before, after = (" ".join(text.split()) for text in (before, after))
    assert "grader reads the criteria of tasks, and is uncalibrated for them: `bench judge calibrate FILE`" in before
    assert measured.out.startswith("rule:grader agrees with 98 % [87 %, 100 %] of 40 labelled cases (cases.jsonl)")
    assert "The judge rule" not in before + after, "the expectations of the task decide, and no verdict of the judge"
    assert "grader reads the criteria of tasks, and agrees with 98 % [87 %, 100 %] of 40 labelled cases" in after
