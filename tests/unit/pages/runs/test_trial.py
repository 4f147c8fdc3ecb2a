"""The commands that the page of a trial offers to copy, and the sentence it begins with."""

from __future__ import annotations

import html
import shlex
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from support.stored_runs import NEW, trial

from trialbed.records import Answer, Score, SentCall
from trialbed.store import Store, open_store
from trialbed_pages.runs import TrialPage
from trialbed_pages.runs.trial import as_command

CONCLUSIONS = {
    ("Solved", 1.0): (True, "The task is solved."),
    ("Solved", 2 / 3): (True, "The task is solved."),
    ("Unsolved", 1 / 3): (False, "The task is not solved: it lacks 21."),
    ("Unsolved", 0.0): (False, "The task is not solved: it lacks 21."),
    ("Unsure", 0.5): (False, "It is unsure whether the task is solved: it lacks 21."),
}
"""The label, which is that of most votes, and their mean."""


def test_the_first_sentence_says_what_most_votes_say(stored: Path) -> None:
    with Store.open(str(stored)) as store, open_store(str(stored)) as reader:
        for query, (label, value) in enumerate(CONCLUSIONS, 100):
            score = Score(name="sopr_score", value=value, label=label, detail={"reason": "it lacks 21"})
            made = trial("reference", query, wrong=False)
            store.add_trial(NEW, made.model_copy(update={"scores": (score,)}))
        run = reader.run(NEW)
        own = {one.key.query_id: TrialPage(run, one, None) for one in run.trials()}
        found = {verdict: own[query] for query, verdict in enumerate(CONCLUSIONS, 100)}
        assert {verdict: (page.is_solved, page.conclusion) for verdict, page in found.items()} == CONCLUSIONS


@pytest.mark.parametrize(
    ("text", "said"),
    [("Paris.", "It answered; there is no verdict."), (" \n", "It ended without an answer; there is no verdict.")],
)
def test_without_a_verdict_it_says_whether_there_is_an_answer(stored: Path, text: str, said: str) -> None:
    made = trial("reference", 100, wrong=False)
    outcome = made.outcome.model_copy(update={"answer": Answer(final_answer=text)})
    with Store.open(str(stored)) as store, open_store(str(stored)) as reader:
        store.add_trial(NEW, made.model_copy(update={"outcome": outcome, "scores": ()}))
        run = reader.run(NEW)
        (page,) = (TrialPage(run, one, None) for one in run.trials() if one.key.query_id == 100)
        assert page.conclusion == said


@pytest.mark.parametrize(("early", "first"), [(0.0, 0.1), (0.25, 0.35), (0.6, 0.5)])
def test_no_exchange_is_drawn_after_the_end_of_an_agent_whose_beginning_was_noted_too_early(
    stored: Path, early: float, first: float
) -> None:
    made = trial("reference", 100, wrong=False)
    began = made.wire.opened_at - timedelta(seconds=early)
    outcome = made.outcome.model_copy(update={"started_at": began})
    with Store.open(str(stored)) as store, open_store(str(stored)) as reader:
        store.add_trial(NEW, made.model_copy(update={"outcome": outcome}))
        run = reader.run(NEW)
        (page,) = (TrialPage(run, one, None) for one in run.trials() if one.key.query_id == 100)
        assert page.timeline.length == outcome.wall_time == 1.0
        assert page.exchanges[0].at == pytest.approx(first)


def test_tasks_that_need_their_functions_are_run_again_from_the_file_that_has_them(stored: Path) -> None:
    with Store.open(str(stored)) as store, open_store(str(stored)) as reader:
        old = reader.run(NEW).record
        config = old.config.model_copy(update={"dataset": ".trialbed/tasks/desk-aa.json", "dataset_file": "desk.py"})
        store.create_run(old.model_copy(update={"run_id": "copied", "config": config}))
        store.add_trial("copied", trial("reference", 1, wrong=False))
        run = reader.run("copied")
        (page,) = (TrialPage(run, one, None) for one in run.trials())
        assert str(page.run_command).startswith("bench run -f reference -d desk.py --query-id 1 ")


def test_a_trial_is_run_again_within_its_own_bounds(stored: Path) -> None:
    with Store.open(str(stored)) as store, open_store(str(stored)) as reader:
        old = reader.run(NEW).record
        config = old.config.model_copy(update={"timeout": 0.5, "max_steps": 3, "max_tokens": None})
        store.create_run(old.model_copy(update={"run_id": "bound", "config": config}))
        store.add_trial("bound", trial("reference", 1, wrong=False))
        run = reader.run("bound")
        (page,) = (TrialPage(run, one, None) for one in run.trials())
        assert str(page.run_command).endswith(" --max-steps 3 --timeout 0.5")


def test_what_comes_from_elsewhere_stays_one_word_of_the_command() -> None:
    words = ["bench", "run", "--query-id", "1; touch $(pwned) 'x'", "--model", "a model"]
    assert shlex.split(as_command(words)) == words
    assert "\n" not in as_command(["bench", "show", "a\nrm -rf ~"])


async def test_a_trial_that_met_injected_faults_names_them_and_is_run_again_with_them(stored: Path, get: Any) -> None:
    plan = '{"model": {"rate": 0.5}}'
    made = trial("reference", 1, wrong=False)
    requests = [one.model_copy(update={"fault": "rate_limit"}) for one in made.wire.model_calls]
    with Store.open(str(stored)) as store, open_store(str(stored)) as reader:
        old = reader.run(NEW).record
        config = old.config.model_copy(update={"faults": plan})
        store.create_run(old.model_copy(update={"run_id": "faulty", "config": config}))
        wire = made.wire.model_copy(update={"model_calls": tuple(requests)})
        store.add_trial("faulty", made.model_copy(update={"wire": wire}))
    shown = (await get("/runs/faulty/trial?framework=reference&query=1")).text
    assert shown.count("injected fault: rate limit") == len(requests) > 0
    assert f"--faults {shlex.quote(plan)}" in html.unescape(shown)


def test_where_expectations_alone_are_not_met_it_says_what_first_went_wrong(stored: Path) -> None:
    detail = {"reason": "2 of 2 expectations are not met: no; no", "method": "expectations"}
    score = Score(name="sopr_score", value=0.0, label="Unsolved", detail=detail)
    made = trial("reference", 100, wrong=False)
    (first, *others) = made.wire.model_calls
    sent = SentCall(name="find_order", arguments="{", problem="invalid json")
    wire = made.wire.model_copy(update={"model_calls": (first.model_copy(update={"tool_calls": (sent,)}), *others)})
    with Store.open(str(stored)) as store, open_store(str(stored)) as reader:
        store.add_trial(NEW, made.model_copy(update={"scores": (score,), "wire": wire}))
        run = reader.run(NEW)
        (page,) = (TrialPage(run, one, None) for one in run.trials() if one.key.query_id == 100)
        assert page.conclusion == (
            "The task is not solved: 2 of 2 expectations are not met; request 1: the model's call of find_order could "
            "not be made: invalid JSON."
        )
