"""What a run can be called, and what is said of queries that differ."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each
from support.trials import ended, run_config

from trialbed.errors import DataError, UsageError
from trialbed.records import Run
from trialbed.report import read_report
from trialbed.report._packed import columns_of
from trialbed.report.comparison import (
    ComparedRun,
    ComparedTrial,
    Side,
    TrialTable,
    is_run_name,
    read_groups,
    read_sides,
    run_side,
)
from trialbed.report.comparison._differences import ComparisonOptions, compare_pairs
from trialbed.scoring import ALWAYS
from trialbed.store import Store, open_store, trial_columns
from trialbed_evaluation.run_comparer import RunComparer

OLD, NEW = "20260101T120000-aaaaaa", "20260202T120000-bbbbbb"


@pytest.fixture
def store(tmp_path: Path) -> str:
    place = str(tmp_path / "runs.db")
    with Store.open(place) as store:
        for month, run_id in enumerate((OLD, NEW), 1):
            store.create_run(
                Run(
                    run_id=run_id,
                    config=run_config(frameworks=("reference", "langgraph:native")),
                    config_digest=run_id,
                    status="finished",
                    created_at=datetime(2026, month, 1, tzinfo=UTC),
                    environment_digest="",
                )
            )
            for name in ("reference", "langgraph:native"):
                result = ended("agent")
                key = result.key.model_copy(update={"framework": name})
                store.add_trial(run_id, result.model_copy(update={"key": key}))
    return place


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("latest", [(NEW, "reference"), (NEW, "langgraph:native")]),
        ("202601", [(OLD, "reference"), (OLD, "langgraph:native")]),
        (f"{OLD}/langgraph", [(OLD, "langgraph:native")]),
        ("latest/reference", [(NEW, "reference")]),
    ],
)
def test_a_run_and_a_framework_are_found_by_name(store: str, name: str, expected: list[tuple[str, str]]) -> None:
    assert RunComparer().recognises(name)
    sides = read_sides(name, store)
    assert [(side.source, side.name) for side in sides] == expected
    assert {side.about.run_id for side in sides} == {source for source, _ in expected}


def test_the_columns_of_a_run_that_several_names_mean_are_read_once(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    monkeypatch.setattr(
        "trialbed.store.trial_columns", lambda run, *given: (read.append(run.run_id), trial_columns(run, *given))[1]
    )
    values = ["latest/reference", "latest/langgraph", f"{OLD}/reference"]
    groups = read_groups(values, store)
    assert [[(side.source, side.name) for side in sides] for sides in groups] == [
        [(NEW, "reference")],
        [(NEW, "langgraph:native")],
        [(OLD, "reference")],
    ]
    assert read == [NEW, OLD]


def test_a_name_that_means_none_or_several_is_refused(store: str) -> None:
    with pytest.raises(DataError, match="several runs begin with '2026'"):
        read_sides("2026", store)
    with pytest.raises(UsageError, match="no framework 'crewai'"):
        read_sides("latest/crewai", store)


@for_each("value", ["", "lates", "2026x", "results.jsonl", "20260101T120000-aaaaaag", "123"])
def test_other_texts_are_no_names_of_runs(value: str) -> None:
    assert not is_run_name(value)


def test_a_document_can_be_given_by_its_name(write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "results" / "tools"
    folder.mkdir(parents=True)
    write("reference", {1: {"sopr_score": 1}}).rename(folder / "reference_mini.json")
    monkeypatch.chdir(tmp_path)
    assert RunComparer().recognises("reference_mini")
    assert [side.name for side in read_sides("reference_mini", None)] == ["reference"]
    assert not RunComparer().recognises("langgraph_mini")


def test_tasks_and_tools_that_differ_are_said(write: Any) -> None:
    import json

    sides = []
    for name, text, tools in (("a", "How warm?", ["x"]), ("b", "How cold?", ["x", "y"])):
        path = write(name, {1: {"sopr_score": 1}, 2: {"sopr_score": 1}})
        document = json.loads(path.read_text())
        document["results"][0] |= {"query_text": text, "gold_apis": [], "selected_tools": tools}
        path.write_text(json.dumps(document))
        sides += read_sides(str(path), None)
    (found, same) = compare_pairs([(sides[0], sides[1]), (sides[0], sides[0])], ComparisonOptions())
    notes = found.notes
    assert "the text or the expected Apis differ in 1 of the 2 common queries" in notes
    assert "the offered tools differ in 1 of the 2 common queries" in notes
    assert not any("differ in" in note for note in same.notes)


@pytest.mark.parametrize("value", [5.0, -0.5, "1.0", float("nan"), float("inf"), [1]])
def test_a_score_that_is_out_of_its_range_is_refused(write: Any, value: Any) -> None:
    path = write("reference", {1: {"sopr_score": 1.0}, 2: {"sopr_score": value}})
    with pytest.raises(DataError, match=r"query 2: sopr_score is .*, not a number from 0 to 1"):
        read_sides(str(path), None)


def test_a_time_that_is_no_number_is_refused_and_a_score_that_is_not_known_is_not(write: Any) -> None:
    known = {"sopr_score": None, "wall_time": 3.5}
    assert read_sides(str(write("reference", {1: known})), None)
    with pytest.raises(DataError, match="query 1: wall_time is nan, not a number"):
        read_sides(str(write("reference", {1: known | {"wall_time": float("nan")}})), None)


def test_a_trial_that_stands_twice_in_a_document_is_refused(write: Any) -> None:
    path = write("reference", {1: {"sopr_score": 1.0}})
    document = json.loads(path.read_text())
    (entry,) = document["results"]
    document["results"] = [entry | {"repeat": 0}] * 2
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match="query 1 has repeat 0 more than once"):
        read_sides(str(path), None)


def test_scores_stand_in_the_order_in_which_trials_have_them() -> None:
    trials = [
        ComparedTrial(1, {"late": math.nan, "tokens": 5.0, "solved": 1.0}),
        ComparedTrial(2, {"late": 1.0, "tokens": 6.0, "solved": 1.0}),
    ]
    side = Side("r", "a", ComparedRun("a"), trials, frozenset({"late", "solved"}), frozenset({"solved"}))
    assert side.scores == ["solved", "late", "tokens"]
    assert [side.without("solved").scores, side.trial_values("late").tolist()] == [["late", "tokens"], [1.0]]


def test_trials_in_columns_are_the_trials_that_they_were_made_of() -> None:
    trials = [
        ComparedTrial(1, {"solved": 1.0, "tokens": 5.0}, tools=frozenset({"x"}), first=True),
        ComparedTrial(1, {"solved": 0.0}, repeat=1),
        ComparedTrial("1", {}, "agent", absent=("solved",)),
        ComparedTrial(2, {}, "model", measured=False),
    ]
    assert list(TrialTable.of(trials)) == trials
    side = Side("r", "a", ComparedRun("a"), trials, frozenset({"solved"}), frozenset({"solved"}))
    assert side.values("solved") == {1: 0.5}
    assert side.trial_values("solved").tolist() == [1.0, 0.0]
    assert side.values("tokens") == {1: 5.0}


def test_scores_of_trials_that_failed_stand_in_one_order(store: str) -> None:
    (side, _) = read_sides(OLD, store)
    assert side.scores == list(ALWAYS)
    assert [trial.failure for trial in side.trials] == ["agent"]
    quality = frozenset({"b", "a", *ALWAYS})
    with open_store(store) as reader:
        run = reader.run(OLD)
        trials = read_report(run).frameworks[0].trials
    table = columns_of(trials).table(trials)
    same = run_side(run.record, "reference", table, bounded=quality, quality=quality)
    assert same.scores == [*ALWAYS, "a", "b"]
