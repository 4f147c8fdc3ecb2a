"""``evaluate``: scores of this program, and what can be done with a report."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import pytest
from support.evaluation import trials

from trialbed import Expect, Score, Task, evaluate, open_store, scorer
from trialbed.errors import UsageError
from trialbed.report import read_report


def test_scores_have_what_their_scorer_says() -> None:
    @scorer(name="letters", unit="letters", lower_is_better=True)
    async def length(trial: Any) -> int:
        await asyncio.sleep(0)
        return len(trial.text)

    def whole(trial: Any) -> Score:
        return Score(name="whole", value=0.25, label="quarter")

    def none(trial: Any) -> None:
        return None

    def wrong(trial: Any) -> float:
        return 7.0

    evaluate({"mine": lambda query: "Paris"}, Task("?"), scorers=[length, whole, none, wrong])
    (trial,) = trials()
    letters = trial.score("letters")
    assert (letters.value, letters.bounded) == (5.0, False)
    assert trial.score("whole").label == "quarter"
    assert trial.score("none") is None
    assert "not from 0 to 1; say so with @scorer(bounded=False)" in trial.score("wrong:failed").failure.message


def test_a_stored_run_keeps_the_descriptions_of_its_scorers() -> None:
    @scorer(name="size", unit="words", meaning="how long the answer is")
    def length(trial: Any) -> int:
        return len(trial.text.split())

    evaluate({"mine": lambda query: "Paris"}, Task("?"), scorers=[length])
    with open_store() as store:
        run = store.run("latest")
        report = read_report(run)
        assert {"size", "sopr_score"} <= run.record.scores.keys()
    assert report["mine"].scores["size"].description == length.describe_scores()[0]
    assert {"size,", "words"} <= set(str(report).split())
    assert "first of a worker" not in str(report), "an object of this process has no worker"


def test_a_trial_that_failed_is_0_in_a_final_state_only_where_its_task_names_one() -> None:
    """In every view of the run: report, document, frame, comparison."""

    class Seats:
        def __init__(self) -> None:
            self.taken: list[str] = []

        def book(self, seat: str) -> str:
            self.taken.append(seat)
            return "booked"

        def state(self) -> list[str]:
            return self.taken

    def whole(query: str, tools: Any) -> str:
        return str(tools[0].invoke({"seat": query}))

    def fails(query: str, tools: Any) -> str:
        if query != "1A":
            raise ValueError(query)
        return whole(query, tools)

    stated = [Task(seat, tools=Seats, expect=Expect("booked", state=[seat])) for seat in ("1A", "2B")]
    tasks = [*stated, Task("3C", tools=Seats, expect=Expect("booked"))]
    report = evaluate({"whole": whole, "fails": fails}, tasks, output="results")
    found = {name: report[name].scores["final_state"] for name in ("whole", "fails")}
    counted = {name: (mean.value, mean.denominator) for name, mean in found.items()}
    assert counted == {"whole": (1, 2), "fails": (0.5, 2)}
    document = json.loads(Path("results/fails_tasks.json").read_text())
    assert document["summary"]["average_final_state"] == 0.5
    assert [entry["scores"].get("final_state") for entry in document["results"]] == [1, 0, None]
    frame = open_store().run("latest").to_frame()
    assert sorted(frame[frame["framework"] == "fails"]["final_state"].dropna()) == [0, 1]
    kept = read_report(open_store().run("latest"))
    assert kept["fails"].scores["final_state"].value == 0.5


def test_a_report_is_held_against_thresholds_and_an_earlier_run() -> None:
    tasks = [Task(f"{number}?", expect="yes") for number in range(10)]
    good, bad = (evaluate({"mine": lambda query, said=said: said}, tasks) for said in ("yes", "no"))
    assert good.below(sopr_score=0.8) == []
    assert bad.below({"pass^1": 0.5}, sopr_score=0.8) == [
        "mine: pass^1 is not measured, below 0.5",
        "mine: solved is 0, below 0.8",
    ]
    with pytest.raises(UsageError, match="there is no score 'sopr'; the scores are "):
        good.below(sopr=1.0)
    for value in (1.5, math.nan, "0.8"):
        with pytest.raises(UsageError, match=r"sopr_score: .* is not a (number|share)"):
            good.below({"sopr_score": value})  # type: ignore[dict-item] # as a slip has it
    with pytest.raises(UsageError, match=r"total_tokens: lower is better, .* worse_than\(run_id\) in Python"):
        good.below(total_tokens=100)
    (line,) = bad.worse_than(good.run.run_id)
    assert line.startswith(f"mine ({bad.run.run_id}) is worse than mine ({good.run.run_id}): solved differs by -1.0")
    assert good.worse_than(bad.run.run_id) == []
    frame = good.to_frame()
    assert (frame["task"][3], frame["answer"][3]) == ("3?", "yes")
    assert repr(good).startswith(f"<Report on run {good.run.run_id} of 1 setup")
    assert bad.lost_tasks(good.run.run_id) == [
        f"mine ({bad.run.run_id}) never solves 10 tasks that mine ({good.run.run_id}) always solved: "
        "1, 2, 3, 4, 5, 6, 7, 8, 9, 10"
    ]
    few = evaluate({"mine": lambda query: "no"}, tasks[:3])
    with pytest.warns(UserWarning, match="with 3 tasks this comparison cannot fail"):
        assert few.worse_than(evaluate({"mine": lambda query: "yes"}, tasks[:3]).run.run_id) == []
    for other in (bad, None, 5):
        with pytest.raises(UsageError, match=r"is neither the id of a run nor .* give report\.run\.run_id"):
            good.worse_than(other)  # type: ignore[arg-type] # as a slip has it
    for label in (0, None, "other"):
        with pytest.raises(KeyError, match="is not one framework of the report: mine"):
            good[label]  # type: ignore[index] # as a slip has it


def test_figures_and_thresholds_are_given_by_tag() -> None:
    tasks = [
        Task("1?", expect="1", tags=["billing", "hard"]),
        Task("2?", expect="1", tags="billing"),
        Task("3?", expect="3"),
    ]
    report = evaluate({"mine": lambda query: query}, tasks)
    assert report["mine"].of_tag("billing").scores["sopr_score"].value == 0.5
    assert report.below({"solved[hard]": 1, "solved[billing]": 0.4, "sopr_score[billing]": 0.9}) == [
        "mine: solved[billing] is 0.5, below 0.9"
    ]
    with pytest.raises(UsageError, match="no task of the run has the tag 'easy'; its tags are billing, hard"):
        report.below({"solved[easy]": 1})
    with pytest.raises(UsageError, match="is not a share"):
        report.below({"solved[hard]": 90})
    assert [*report.to_frame()["tags"]] == [["billing", "hard"], ["billing"], []]
    page = open_store().run("latest")._repr_html_()  # type: ignore[operator] # the page of a notebook
    assert "50 % [9, 91]" in str(report)
    for shown in (str(report), page):
        assert "solved by tag" in shown
        assert "billing (2)" in shown
    with pytest.raises(UsageError, match="task 1: tags: 3 is not a text"):
        evaluate({"mine": lambda query: query}, [Task("1?", tags=3)])  # type: ignore[arg-type] # as a slip has it


def test_a_run_that_lacks_trials_passes_no_gate() -> None:
    def broken() -> str:
        """Look something up."""
        raise OSError("the disk is full")

    def looking(query: str, tools: Any) -> str:
        for tool in tools:
            tool.invoke({})
        return "yes"

    tasks = [Task("first?", expect="yes"), Task("second?", tools=[broken], expect="yes")]
    report = evaluate({"mine": looking}, tasks)
    assert report.incomplete
    assert report.below(solved=0.9) == ["the run is incomplete, so nothing is decided: 1 trial was not measured"]
