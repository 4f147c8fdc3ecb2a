"""What others read of a store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from support.trials import changed_config

from trialbed import StoredRun, StoreReader, open_store
from trialbed.errors import DataError, UsageError
from trialbed.records import Failure, Run, TrialResult
from trialbed.store import Store

MakeRun = Callable[..., Run]
MakeTrial = Callable[..., TrialResult]


def failed(trial: TrialResult) -> TrialResult:
    failure = Failure(kind="timeout", message="no answer in 1 s")
    outcome = trial.outcome.model_copy(update={"answer": None, "failure": failure})
    return trial.model_copy(update={"outcome": outcome, "scores": ()})


@pytest.fixture
def reader(store: Store, location: str, make_run: MakeRun, make_trial: MakeTrial) -> Iterator[StoreReader]:
    first, second = make_run("r1", tags=("night",)), make_run("r2", status="finished")
    config = changed_config(
        second.config,
        frameworks=("langgraph==1.1.0",),
        model="m",
        dataset="copy.json",
        dataset_file="a.py",
        test_set="b",
    )
    second = second.model_copy(update={"config": config, "created_at": first.created_at + timedelta(hours=1)})
    for run in (first, second):
        store.create_run(run)
    for trial in (make_trial(1), failed(make_trial("1")), make_trial(1, repeat=1)):
        store.add_trial("r1", trial)
    with open_store(location) as opened:
        yield opened


def ids(*runs: StoredRun) -> list[str]:
    return [run.run_id for run in runs]


def test_runs_are_listed_latest_first_and_filtered(reader: StoreReader) -> None:
    assert ids(*reader.runs()) == ["r2", "r1"]
    assert ids(*reader.runs(limit=1)) == ["r2"]
    assert ids(*reader.runs(framework="langgraph")) == ids(*reader.runs(framework="langgraph==1.1.0")) == ["r2"]
    assert ids(*reader.runs(model="scripted:gold")) == ids(*reader.runs(dataset="mini")) == ["r1"]
    for dataset in ("copy.json", "a.py", "b"):
        assert ids(*reader.runs(dataset=dataset, status="finished")) == ["r2"]
    assert reader.runs(dataset="") == ()
    assert reader.runs(status="incomplete") == ()


def test_a_run_is_running_as_long_as_a_process_holds_its_lock(reader: StoreReader, store: Store) -> None:
    with store.lock("d1"):
        assert reader.run("r1").status == "running"
        assert ids(*reader.runs(status="running")) == ["r1"]
        with pytest.raises(UsageError), store.lock("d1"):
            pass  # looking did not take it
    assert reader.run("r1").status == "interrupted"
    assert ids(*reader.runs(status="interrupted")) == ["r1"]
    assert reader.runs(status="running") == ()


def test_a_run_is_found_by_the_beginning_of_its_id_and_as_the_latest(reader: StoreReader) -> None:
    assert reader.run("latest").run_id == "r2"
    assert reader.run("r1").run_id == "r1"
    with pytest.raises(DataError, match=r"several runs begin with 'r': r2, r1; write more"):
        reader.run("r")
    for name in ("", "%", "_1", "r3", "night"):
        with pytest.raises(DataError, match="no run"):
            reader.run(name)


def test_a_framework_is_meant_by_its_name(reader: StoreReader) -> None:
    assert reader.run("r2").framework("langgraph") == "langgraph==1.1.0"
    with pytest.raises(UsageError, match="no framework 'agno'; its frameworks are langgraph==1"):
        reader.run("r2").framework("agno")
    with pytest.raises(UsageError, match=r"did you mean 'langgraph==1.1.0'\? Its frameworks are langgraph==1"):
        reader.run("r2").framework("langraph==1.1.0")


def test_trials_are_filtered(reader: StoreReader) -> None:
    run = reader.run("r1")
    assert [(trial.key.query_id, trial.key.repeat) for trial in run.trials()] == [(1, 0), ("1", 0), (1, 1)]
    assert [trial.key.query_id for trial in run.trials(failed=True)] == ["1"]
    assert [trial.key.query_id for trial in run.trials(failure="timeout")] == ["1"]
    assert [trial.key.repeat for trial in run.trials(failed=False, query_id=1)] == [0, 1]
    assert run.trials(framework="other") == ()


def test_a_trial_comes_whole(reader: StoreReader, make_trial: MakeTrial) -> None:
    trial = reader.run("r1").trial("reference", 1)
    expected = make_trial(1)
    assert trial == expected
    assert trial.answer == expected.outcome.answer
    assert trial.wire.model_calls[0].request == "héllo"
    assert trial.wire.api_calls[0].response == {"b": "ü"}
    assert (trial.timing.wall, trial.failed, trial.failure, trial.seed) == (2, False, None, 7)
    score = trial.score("a")
    assert score is not None
    assert score.label == "Unsure"
    unsuccessful = reader.run("r1").trial("reference", "1")
    assert unsuccessful.answer is None
    assert unsuccessful.failure is not None
    assert unsuccessful.failure.kind == "timeout"
    with pytest.raises(DataError, match="no trial of reference on task 7, repeat 0"):
        reader.run("r1").trial("reference", 7)


def test_what_was_read_stays_and_what_was_not_needs_the_store(reader: StoreReader) -> None:
    run = reader.run("r1")
    read, _ = run.trials(query_id=1)
    reader.close()
    assert read.wire.api_calls
    for action in (run.trials, reader.runs):
        with pytest.raises(DataError, match="the store is closed"):
            action()


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIALBED_STATE_DIR", str(tmp_path))
    with pytest.raises(DataError, match=r"there is no store at .*trialbed\.db; `bench run` creates one"):
        open_store()
    assert list(tmp_path.iterdir()) == []
