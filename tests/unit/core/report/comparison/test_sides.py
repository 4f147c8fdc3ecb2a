"""What a run can be called, and what is said of queries that differ."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.cases import for_each
from support.memory_runs import stored_run
from support.sides import side
from support.trials import run_config, run_of, trial_of, verdict

from trialbed.errors import DataError, UsageError
from trialbed.records import Score
from trialbed.report import json_bytes, legacy_documents, read_report
from trialbed.report.comparison import Side, is_run_name, read_groups
from trialbed.scoring import ALWAYS
from trialbed_evaluation.run_comparer import RunComparer

OLD, NEW = "20260101T120000-aaaaaa", "20260202T120000-bbbbbb"


@pytest.fixture
def store(tmp_path: Path) -> str:
    place, names = str(tmp_path / "runs.db"), ("reference", "langgraph:native")
    for month, run_id in enumerate((OLD, NEW), 1):
        run = run_of(run_config(frameworks=names), run_id, created_at=datetime(2026, month, 1, tzinfo=UTC))
        trials = [trial_of(1, 0, "agent", framework=name) for name in names]
        with stored_run(run.model_copy(update={"config_digest": run_id}), trials, location=place):
            pass
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
    sides = read_groups([name], store)[0]
    assert [(side.source, side.name) for side in sides] == expected
    assert {side.about["run_id"] for side in sides} == {source for source, _ in expected}


def test_a_name_that_means_none_or_several_is_refused(store: str) -> None:
    with pytest.raises(DataError, match="several runs begin with '2026'"):
        read_groups(["2026"], store)[0]
    with pytest.raises(UsageError, match="no framework 'crewai'"):
        read_groups(["latest/crewai"], store)[0]


@for_each("value", ["", "lates", "2026x", "results.jsonl", "20260101T120000-aaaaaag", "123"])
def test_other_texts_are_no_names_of_runs(value: str) -> None:
    assert not is_run_name(value)


@pytest.mark.parametrize("value", [5.0, -0.5, "1.0", float("nan"), float("inf"), [1]])
def test_a_score_that_is_out_of_its_range_is_refused(write: Any, value: Any) -> None:
    path = write("reference", {1: {"sopr_score": 1.0}, 2: {"sopr_score": value}})
    with pytest.raises(DataError, match=r"task 2: sopr_score is .*, not a number from 0 to 1"):
        read_groups([str(path)], None)[0]


def test_a_time_that_is_no_number_is_refused_and_a_score_that_is_not_known_is_not(write: Any) -> None:
    known = {"sopr_score": None, "wall_time": 3.5}
    assert read_groups([str(write("reference", {1: known}))], None)[0]
    with pytest.raises(DataError, match="task 1: wall_time is nan, not a number"):
        read_groups([str(write("reference", {1: known | {"wall_time": float("nan")}}))], None)[0]


def test_a_trial_that_stands_twice_in_a_document_is_refused(write: Any) -> None:
    path = write("reference", {1: {"sopr_score": 1.0}})
    document = json.loads(path.read_text())
    (entry,) = document["results"]
    document["results"] = [entry | {"repeat": 0}] * 2
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match="task 1 has repeat 0 more than once"):
        read_groups([str(path)], None)[0]


def known(side: Side, score: str) -> list[float]:
    """The values of a score in the trials in which it counts."""
    return [value for value in side.column(score).tolist() if not math.isnan(value)]


def test_scores_stand_in_the_order_in_which_trials_have_them() -> None:
    late, solved = {"late": None, "tokens": 5.0, "solved": 1.0}, {"late": 1.0, "tokens": 6.0, "solved": 1.0}
    found = side("a", {1: late, 2: solved}, bounded=frozenset({"late", "solved"}), quality=frozenset({"solved"}))
    assert found.scores == ["solved", "late", "tokens"]
    assert found.without("solved").scores == ["late", "tokens"]
    assert known(found, "late") == [1.0]


def test_scores_of_trials_that_failed_stand_in_one_order(store: str) -> None:
    (found, _) = read_groups([OLD], store)[0]
    assert found.scores == list(ALWAYS)
    assert found.failures == {"agent": 1}


def test_a_side_is_the_same_from_the_store_a_report_and_a_document(tmp_path: Path) -> None:
    given = [verdict("Unsure"), *(Score(name=name, value=1.0) for name in ALWAYS[1:])]
    given.append(Score(name="wall_time", value=2.0, bounded=False))
    trials = [
        trial_of(query, repeat, scores=given, framework=name, first=not repeat, selected_tools=("x",))
        for name in ("reference", "b")
        for query in (1, "1")
        for repeat in range(2)
    ]
    trials[1] = trial_of(1, 1, "crash")
    trials[6] = trial_of("1", 0, "endpoint", framework="b")
    config = run_config(frameworks=("reference", "b"), query_ids=(1, "1"), repeat=2)
    store, path = str(tmp_path / "runs.db"), tmp_path / "both.json"
    with stored_run(run_of(config, OLD), trials, location=store) as stored:
        report = read_report(stored)
        path.write_bytes(json_bytes(legacy_documents(report)))
    for read in (
        list(report.sides.values()),
        read_groups([OLD], store)[0],
        read_groups([str(path)], None)[0],
    ):
        reference, other = read
        assert (reference.failures, other.failures) == ({"crash": 1}, {"endpoint": 1})
        assert (reference.first_apart, other.first_apart) == (True, True)
        assert (reference.scores, other.scores) == ([*ALWAYS, "wall_time"], [*ALWAYS, "wall_time"])
        assert known(reference, "sopr_score") == [0.5, 0.0, 0.5, 0.5]
        assert known(reference, "api_f1") == [1.0, 0.0, 1.0, 1.0]
        assert (known(reference, "wall_time"), known(other, "wall_time")) == (
            [2.0],
            [2.0] * 2,
        )
        assert known(other, "sopr_score") == [0.5] * 3
