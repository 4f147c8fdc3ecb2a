"""The scores of a run that is scored again, counted trial by trial."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from support.trials import NOW, ended, run_config

from trialbed.records import Answer, Failure, FailureKind, Outcome, Run, Score, TrialKey, TrialResult
from trialbed.store import Store, column_table
from trialbed_evaluation.score._tally import RunTally, ScoreSum

NEW = "sopr_score@grader"


def trial(framework: str, query_id: int, kind: FailureKind | None = None, **more: Any) -> TrialResult:
    key = TrialKey(framework=framework, query_id=query_id)
    failure = Failure(kind=kind, message="gone") if kind else None
    outcome = Outcome(started_at=NOW, wall_time=1, answer=None if kind else Answer(final_answer="x"), failure=failure)
    token = f"{framework}-{query_id}-{more.get('attempt', 0)}"
    return ended().model_copy(update={"key": key, "outcome": outcome, "trial": token, **more})


def score(name: str, value: float | None, label: str | None = None, **more: Any) -> Score:
    return Score(name=name, value=value, label=label, **more)


SOLVED, UNSOLVED = score("sopr_score", 1.0, "Solved"), score("sopr_score", 0.0, "Unsolved")
SILENT = score(NEW, None, failure=Failure(kind="judge", message="no reply"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(str(tmp_path / "trials.db")) as opened:
        yield opened


def tally_of(store: Store, status: str, *trials: TrialResult, name: str | None = NEW) -> RunTally:
    config = run_config(frameworks=("a", "b"), adapter_versions={"a": "1", "b": "1"}, query_ids=(1, 2, 3))
    run = Run.model_validate(
        {"run_id": "r1", "config": config, "config_digest": "d", "created_at": NOW, "environment_digest": "e"}
        | {"status": status}
    )
    store.create_run(run)
    store.add_trials("r1", trials)
    return RunTally(run, column_table(store.with_trials(run), ()), name)


def test_a_judge_is_counted_over_verdicts_and_failures(store: Store) -> None:
    first, second = trial("a", 1, scores=(SOLVED,)), trial("a", 2, scores=(UNSOLVED,))
    tally = tally_of(store, "finished", first, second, trial("a", 3, "crash"), trial("b", 1, "crash"))
    tally.add(0, first, [score(NEW, 0.5, "Unsure")])
    tally.add(1, second, [score(NEW, 0.0, "Unsolved")])
    own, other = tally.frameworks["a"], tally.frameworks["b"]
    assert own.sums["sopr_score"].mean(own.failed, is_verdict=True) == pytest.approx(1 / 3)
    assert own.sums[NEW].mean(own.failed, is_verdict=True) == pytest.approx(0.5 / 3)
    assert (own.same, own.judged_twice, own.silent) == (1, 2, 0)
    assert other.sums[NEW].mean(other.failed, is_verdict=True) == 0.0
    assert not tally.pairs.is_part


def test_a_run_that_lacks_trials_is_counted_over_what_every_framework_has(store: Store) -> None:
    both, alone, again = trial("a", 1, scores=(SOLVED,)), trial("a", 2, scores=(SOLVED,)), trial("b", 3)
    tally = tally_of(
        store,
        "incomplete",
        *(both, alone, trial("a", 3, "crash")),
        *(trial("b", 1, "timeout"), trial("b", 2, "endpoint"), trial("b", 3, "endpoint")),
        again.model_copy(update={"attempt": 1, "trial": "again"}),
    )
    tally.add(0, both, [score(NEW, 0.0, "Unsolved")])
    tally.add(1, alone, [SILENT])
    assert (tally.pairs.is_part, len(tally.pairs)) == (True, 2)
    own = tally.frameworks["a"]
    assert (own.failed, own.judged_twice, own.silent, tally.frameworks["b"].failed) == (1, 1, 0, 1)
    assert own.sums["sopr_score"].mean(own.failed) == 0.5
    assert (tally.silent, tally.first_silence) == (1, "no reply")


def test_the_first_without_a_verdict_is_that_of_the_first_trial(store: Store) -> None:
    first, second = trial("a", 1), trial("a", 2)
    tally = tally_of(store, "finished", first, second)
    tally.add(1, second, [SILENT])
    tally.add(0, first, [score(NEW, None)])
    assert (tally.silent, tally.first_silence) == (2, "the judge gave no value")
    assert tally.frameworks["a"].sums[NEW].mean(0) is None


def test_scores_that_were_added_are_counted_beside_those_that_were_there(store: Store) -> None:
    first, second = trial("a", 1, scores=(SOLVED,)), trial("a", 2, scores=(score("new", 1.0),))
    tally = tally_of(store, "finished", first, second, trial("a", 3, "crash"), name=None)
    tally.add(0, first, [score("new", 0.5), score("time", 3.0, bounded=False, quality=False)])
    tally.add(1, second, [])
    own = tally.frameworks["a"]
    assert tally.had == {"sopr_score", "new"}
    assert own.sums["time"].mean(own.failed) == 3.0
    assert own.sums["new"].mean(own.failed) == 0.25
    assert tally.silent == 0


def test_a_mean_does_not_depend_on_the_order() -> None:
    values = [0.1, 1e16, -1e16, 0.7]
    means = set()
    for order in (values, values[::-1], sorted(values)):
        found = ScoreSum()
        for value in order:
            found.add(score("x", value))
        means.add(found.mean(0))
    assert means == {fmean(values)}
    found.add(score("x", float("inf")))
    assert found.mean(0) == float("inf")
