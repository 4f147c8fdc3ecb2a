"""The sentence that the page of two trials begins with."""

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
