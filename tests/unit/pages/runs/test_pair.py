"""The sentence that the page of two trials begins with, their times and their scores."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.stored_runs import NEW, trial

from trialbed.records import Score
from trialbed.store import Store, open_store
from trialbed_pages.runs import PairPage, TrialPage

ENDS = {
    ("Unsure", 0.5): "left it unsure whether the task is solved",
    ("Unsolved", 0.0): "did not solve the task",
    (None, None): "answered",
}


def test_two_trials_share_a_scale_of_time_and_what_differs_stands_apart(stored: Path) -> None:
    timed = []
    for query, wall, value in ((100, 2.0, 0.0), (101, 8.0, 1.0)):
        made = trial("reference", query, wrong=False)
        outcome = made.outcome.model_copy(update={"wall_time": wall})
        scores = (Score(name="sopr_score", value=value), Score(name="used_results", value=1.0))
        timed.append(made.model_copy(update={"outcome": outcome, "scores": scores}))
    with Store.open(str(stored)) as store, open_store(str(stored)) as reader:
        for one in timed:
            store.add_trial(NEW, one)
        own = {one.key.query_id: TrialPage(reader.run(NEW), one, None) for one in reader.run(NEW).trials()}
        page = PairPage((own[100], own[101]))
        assert [one.scale.high for one in page.timelines] == [8.0, 8.0]
    assert page.differing == [("sopr_score", 0.0, 1.0)]
    assert page.equal == [("used_results", 1.0, 1.0)]


@pytest.mark.parametrize("verdict", ENDS)
def test_each_end_is_said_as_it_was_judged(stored: Path, verdict: tuple[str | None, float | None]) -> None:
    label, value = verdict
    judged = [
        trial("reference", query, wrong=False).model_copy(update={"scores": (score,)})
        for query, score in (
            (100, Score(name="sopr_score", value=value, label=label)),
            (101, Score(name="sopr_score", value=1.0, label="Solved")),
        )
    ]
    with Store.open(str(stored)) as store, open_store(str(stored)) as reader:
        for one in judged:
            store.add_trial(NEW, one)
        run = reader.run(NEW)
        own = {one.key.query_id: TrialPage(run, one, None) for one in run.trials()}
        page = PairPage((own[100], own[101]))
        said = page.conclusion
    assert said.endswith(f"; reference/100 {ENDS[verdict]}, reference/101 solved the task.")


def test_two_trials_that_solve_nothing_are_named_together(stored: Path) -> None:
    score = Score(name="sopr_score", value=0.0, label="Unsolved")
    with Store.open(str(stored)) as store, open_store(str(stored)) as reader:
        for query in (100, 101):
            store.add_trial(NEW, trial("reference", query, wrong=False).model_copy(update={"scores": (score,)}))
        run = reader.run(NEW)
        own = {one.key.query_id: TrialPage(run, one, None) for one in run.trials()}
        assert PairPage((own[100], own[101])).conclusion.endswith("; neither solved the task.")
