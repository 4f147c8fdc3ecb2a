"""Runs that lack trials, and runs that would be compared with themselves."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.trials import ended, run_config

from trialbed.errors import UsageError
from trialbed.records import Run, RunStatus
from trialbed.report import read_report
from trialbed.store import Store, open_store
from trialbed.views import markdown
from trialbed_evaluation.run_comparer import RunComparer

OLD, NEW, EMPTY = "20260101T120000-aaaaaa", "20260202T120000-bbbbbb", "20260303T120000-cccccc"
BOTH = ("reference", "langgraph:native")


@pytest.fixture
def store(tmp_path: Path) -> str:
    """A finished run of two queries, an incomplete one that lacks a trial of one framework, and one without trials."""
    place = str(tmp_path / "runs.db")
    runs: tuple[tuple[str, RunStatus, dict[str, tuple[int, ...]]], ...] = (
        (OLD, "finished", dict.fromkeys(BOTH, (1, 2))),
        (NEW, "incomplete", {"reference": (1, 2), "langgraph:native": (2,)}),
        (EMPTY, "interrupted", {}),
    )
    with Store.open(place) as store:
        for month, (run_id, status, trials) in enumerate(runs, 1):
            created = datetime(2026, month, 1, tzinfo=UTC)
            config = run_config(frameworks=BOTH, adapter_versions=dict.fromkeys(BOTH, "1"))
            fields = {"config": config, "config_digest": run_id, "status": status}
            store.create_run(Run(run_id=run_id, created_at=created, environment_digest="", **fields))
            for name, queries in trials.items():
                for query_id in queries:
                    result = ended("agent")
                    key = result.key.model_copy(update={"framework": name, "query_id": query_id})
                    store.add_trial(run_id, result.model_copy(update={"key": key}))
    return place


def compared(store: str, *values: str, **more: Any) -> Any:
    options = {"margin": None, "force": False, "resamples": 100, "seed": 0, "store": store, "fail_on_regression": False}
    return RunComparer().compare(values, options | more)


def test_a_report_and_a_comparison_of_a_run_that_lacks_trials_give_the_same_verdicts(store: str) -> None:
    with pytest.raises(UsageError, match=r"is incomplete, with 1 of 2 trials of langgraph:native measured"):
        compared(store, NEW)
    with open_store(store) as reader:
        usual, accepted = (read_report(reader.run(NEW), allow_incomplete=allowed) for allowed in (None, True))
    assert all(summary.common and not summary.comparisons for summary in usual.frameworks)
    (own,) = accepted["langgraph"].comparisons
    (found,) = compared(store, NEW, allow_incomplete=True).document
    assert {score: one.as_json() for score, one in own.scores.items()} == found["findings"]


def test_a_run_that_lacks_trials_is_refused_unless_that_is_accepted(store: str) -> None:
    with pytest.raises(
        UsageError, match=r"is incomplete, with 1 of 2 trials of langgraph:native measured.*--allow-incomp"
    ):
        compared(store, f"{OLD}/langgraph", f"{NEW}/langgraph")
    found = compared(store, f"{OLD}/langgraph", f"{NEW}/langgraph", allow_incomplete=True)
    assert found.document[0]["queries"]["common"] == 1
    assert (found.document[0]["baseline"]["status"], found.document[0]["baseline"]["missing"]) == ("finished", 0)
    assert (found.document[0]["candidate"]["status"], found.document[0]["candidate"]["missing"]) == ("incomplete", 1)
    assert f"INCOMPLETE: run {NEW} is incomplete, with 1 of 2 trials of langgraph:native measured" in markdown(
        found.tables
    )
    with pytest.raises(UsageError, match="have measured no task in common yet"):
        compared(store, f"{OLD}/langgraph", f"{EMPTY}/langgraph", allow_incomplete=True)


def test_a_framework_that_lacks_none_is_compared(store: str) -> None:
    assert compared(store, f"{OLD}/reference", f"{NEW}/reference").document[0]["candidate"]["status"] == "incomplete"


@pytest.mark.parametrize("values", [(OLD, OLD), (OLD, f"{OLD}/langgraph"), (OLD, NEW, OLD)])
def test_a_run_is_not_compared_with_itself(store: str, values: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=f"are the same trials: those of .* in run {OLD}; name another run"):
        compared(store, *values, allow_incomplete=True)
