"""A run as a DataFrame."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trialbed import open_store
from trialbed.errors import UsageError
from trialbed.records import Failure, Run, Score, TrialResult
from trialbed.store import Store


@pytest.fixture
def location(path: Path) -> str:
    return str(path)


@pytest.fixture
def frame(store: Store, location: str, make_run: Callable[..., Run], make_trial: Callable[..., TrialResult]) -> Any:
    pytest.importorskip("pandas")
    store.create_run(make_run("r1"))
    scores = (Score(name="sopr_score", value=0.5, label="Unsure"), Score(name="tokens", value=9, bounded=False))
    store.add_trial("r1", make_trial(1).model_copy(update={"scores": scores}))
    for query_id, repeat, kind in (("1", 0, "timeout"), (1, 1, "endpoint")):
        trial = make_trial(query_id, repeat=repeat)
        outcome = trial.outcome.model_copy(update={"answer": None, "failure": Failure(kind=kind, message="no")})
        store.add_trial("r1", trial.model_copy(update={"outcome": outcome, "scores": ()}))
    with open_store(location) as reader:
        return reader.run("r1").to_frame()


def test_there_is_a_row_for_each_trial_and_a_column_for_each_score(frame: Any) -> None:
    assert frame["query_id"].tolist() == [1, "1", 1]
    assert frame["status"].tolist() == ["answered", "failed", "not measured"]
    assert frame["answer_status"].tolist()[0] == "Unsure"
    assert frame["failure"].tolist()[1:] == ["timeout", "endpoint"]
    assert frame["tokens"].isna().tolist() == [False, True, True]


def test_a_failed_trial_is_0_in_scores_of_quality_and_others_are_missing(frame: Any) -> None:
    assert frame["sopr_score"].tolist()[:2] == [0.5, 0.0]
    assert frame["sopr_score"].isna().tolist() == [False, False, True]
    assert frame["sopr_score"].mean() == 0.25


def test_a_run_without_trials_is_an_empty_frame(store: Store, location: str, make_run: Callable[..., Run]) -> None:
    pytest.importorskip("pandas")
    store.create_run(make_run("r1"))
    with open_store(location) as reader:
        assert len(reader.run("r1").to_frame()) == 0


def test_without_pandas_the_error_says_how_to_get_it(
    store: Store, location: str, make_run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    store.create_run(make_run("r1"))
    with open_store(location) as reader, pytest.raises(UsageError, match=r"pip install 'trialbed\[dataframe\]'"):
        reader.run("r1").to_frame()
