"""Runs beside each other: what they can be called, what is compared, what is refused, and what is said."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from support.cases import for_each
from support.memory_runs import stored_run
from support.trials import run_config, run_of, trial_of, verdict
from support.written_documents import Write

from trialbed.cli import main
from trialbed.contracts import Comparison
from trialbed.errors import DataError, UsageError
from trialbed.records import Run, RunStatus, Score
from trialbed.report import json_bytes, legacy_documents, read_report
from trialbed.report.comparison import (
    Side,
    baseline_comparisons,
    compared_settings,
    lost_task_lines,
    powerless_notes,
    read_groups,
    regression_lines,
)
from trialbed.scoring import ALWAYS
from trialbed.settings import declared_settings
from trialbed.store import Store, open_store
from trialbed.views import markdown
from trialbed_evaluation.run_comparer import RunComparer

OPTIONS: dict[str, Any] = {
    "force": False,
    "resamples": 200,
    "seed": 0,
    "store": None,
    "margin": 0.05,
    "fail_on_regression": False,
    "fail_on_lost_task": False,
}


def compared(*paths: Path | str, **options: Any) -> Comparison:
    return RunComparer().compare(list(map(str, paths)), OPTIONS | options)


def scores(value: float, tokens: float = 10.0) -> dict[str, float]:
    return {"sopr_score": value, "total_tokens": tokens}


def text(found: Comparison) -> str:
    return markdown(found.tables).replace("\\", "")


def test_means_and_paired_differences_are_over_common_queries(write) -> None:
    a = write("a", {number: scores(0.5, 100) for number in range(20)})
    b = write("b", {number: scores(1.0, 100 + number % 2) for number in range(10, 40)})
    found = compared(a, b)
    assert found.document[0]["queries"] == {"common": 10, "only_baseline": 10, "only_candidate": 20}
    score = found.document[0]["scores"]["sopr_score"]
    assert (score["baseline"], score["candidate"], score["n"]) == (0.5, 1.0, 10)
    assert (score["difference"]["value"], score["difference"]["n"]) == (0.5, 10)
    assert 0.05 < score["difference"]["low"] < 0.5 < score["difference"]["high"] < 0.65
    assert found.document[0]["findings"]["sopr_score"]["verdict"] == "better"
    assert (score["better"], score["worse"]) == (10, 0)
    record = next(one for one in found.records if one["score"] == "sopr_score")
    assert (record["n"], record["baseline_mean"], record["candidate_mean"], record["difference"]) == (10, 0.5, 1.0, 0.5)
    assert (record["low"], record["high"]) == (score["difference"]["low"], score["difference"]["high"])
    assert (record["verdict"], record["p_adjusted"]) == ("better", pytest.approx(0.002, abs=0.0005))
    tokens = found.document[0]["scores"]["total_tokens"]["difference"]
    assert tokens["value"] == 0.5
    assert 0 < tokens["low"] < 0.5 < tokens["high"] < 1
    assert "| solved | 0.5000 | 1.0000 | +0.5000 [+0.0837, +0.6388] | 10 | 0.002 | better |" in text(found)
    assert "20 tasks are left out, as only b has them." in text(found)


def test_a_failure_of_the_agent_is_zero_and_one_of_the_rig_is_not_measured(write) -> None:
    a = write("a", {1: scores(1.0), 2: scores(1.0), 3: scores(1.0)})
    b = write("b", {1: scores(1.0), 2: "crash", 3: "server"})
    found = compared(a, b)
    assert found.document[0]["scores"]["sopr_score"]["difference"]["value"] == -0.5
    assert found.document[0]["scores"]["sopr_score"]["n"] == 2
    assert found.document[0]["scores"]["total_tokens"]["n"] == 1
    assert "b: 2 trials failed: worker died (1), Trialbed's server failed (1)." in text(found)


def test_other_datasets_are_refused_unless_forced(write) -> None:
    a, b = write("a", {1: scores(1.0)}), write("b", {1: scores(1.0)}, dataset_digest="e" * 64)
    with pytest.raises(UsageError, match=r"the datasets differ \(mini dddddddddddd and mini eeeeeeeeeeee\).*--force"):
        compared(a, b)
    assert "tasks of the same id may be different tasks" in text(compared(a, b, force=True))


def test_verdicts_of_different_judges_are_left_out_unless_forced(write) -> None:
    a, b = write("a", {1: scores(1.0)}), write("b", {1: scores(1.0)}, evaluator_model="gpt-4o-mini")
    found = compared(a, b)
    assert "sopr_score" not in found.document[0]["scores"]
    assert "verdicts of different judges are not comparable: solved is left out." in text(found)
    assert "sopr_score" in compared(a, b, force=True).document[0]["scores"]


@pytest.mark.parametrize("other", [{"rules": 2}, {"model": "gpt-5"}, {"driver": "llm"}])
def test_a_judge_is_another_with_other_rules_or_another_model(other: dict[str, Any], write) -> None:
    judge = {"driver": "rule", "model": None, "rules": 3, "calibration": None}
    a = write("a", {1: scores(1.0)}, judge=judge)
    assert "sopr_score" not in compared(a, write("b", {1: scores(1.0)}, judge=judge | other)).document[0]["scores"]
    earlier = write("c", {1: scores(1.0)}, judge={"driver": "rule", "model": None, "calibration": None})
    assert "sopr_score" in compared(a, earlier).document[0]["scores"]


def test_each_setting_of_a_run_is_compared_and_one_that_a_version_lacked_has_its_default(write) -> None:
    compared_keys = set(compared_settings())
    assert {item.document for item in declared_settings() if item.document} - {"dataset"} <= compared_keys
    a = write("a", {1: scores(1.0)})
    b = write("b", {1: scores(1.0)}, simulator_model="gpt-4o-mini", sandbox=True)
    found = compared(a, b)
    assert found.document[0]["settings"] == {"simulator_model": [None, "gpt-4o-mini"], "sandbox": [False, True]}
    assert 'simulator model: none and "gpt-4o-mini", which are not the same.' in text(found)


@pytest.mark.parametrize(
    ("old", "new", "outcome", "lost"),
    [
        (20, 11, "failure", True),
        (20, 19, "skipped", True),
        (19, 20, "skipped", False),
        (11, 20, "passed", False),
        (20, 20, "passed", False),
    ],
)
@pytest.mark.parametrize("option", [None, "--fail-on-regression", "--fail-on-lost-task"])
def test_junit_fails_wherever_the_exit_code_is_1_and_skips_what_is_open(
    write, capsys: pytest.CaptureFixture[str], old: int, new: int, outcome: str, lost: bool, option: str | None
) -> None:
    paths = [
        write(name, {number: scores(float(number < solved)) for number in range(20)})
        for name, solved in {"a": old, "b": new}.items()
    ]
    code = main(["compare", *map(str, paths), "--format", "junit", *([option] if option else [])])
    printed = capsys.readouterr()
    tests = ElementTree.fromstring(printed.out).findall("testsuite/testcase")
    found = {test.get("name"): (test[0].tag, test[0].get("message")) if len(test) else ("passed", "") for test in tests}
    said, lines = found.pop("solved"), [line for line in printed.err.splitlines() if line.startswith("b ")]
    assert said[0] == outcome
    assert outcome != "skipped" or said[1].startswith(
        "b is neither shown to be better nor worse than a: solved differs"
    )
    assert code == int((outcome == "failure" and option == "--fail-on-regression") or (lost and "lost" in str(option)))
    assert code == len(lines)
    assert {("failure", line) for line in lines} <= {said, *found.values()}
    assert [name for name in found if name.startswith("b ")] == (lines if "lost" in str(option) else [])


def test_the_margin_decides_what_is_equivalent(write) -> None:
    a = write("a", {number: scores(1.0) for number in range(40)})
    b = write("b", {number: scores(float(number > 0)) for number in range(40)})
    assert compared(a, b).document[0]["findings"]["sopr_score"]["verdict"] == "too few"
    found = compared(a, b, margin=0.2)
    assert found.document[0]["findings"]["sopr_score"]["verdict"] == "equivalent"
    assert "equivalent: shown to differ by less than 0.2, the margin." in text(found)


def regressions(baseline: Sequence[Side], sides: Sequence[Side], margin: float) -> list[str]:
    comparisons, void = baseline_comparisons(baseline, sides, margin)
    return [*void, *regression_lines(comparisons)]


@for_each(
    ("old", "new", "lost", "powerless"),
    [
        ([1, 1, 1], [0, 0, 0], ["1, 2, 3"], True),
        ([1, 1, 0.5], [0, 0.5, 0], ["1"], True),
        ([1, 0, 1], [1, 0, 1], [], True),
        ([1] * 12, [0] + [1] * 11, ["1"], False),
    ],
)
def test_lost_tasks_and_comparisons_that_cannot_fail_are_told(write, old, new, lost, powerless) -> None:
    sides = [
        read_groups([str(write("a", {at: scores(float(value)) for at, value in enumerate(own, 1)}, run_id=run))], None)
        for run, own in (("old", old), ("new", new))
    ]
    comparisons, _ = baseline_comparisons(*(groups[0] for groups in sides), 0.05)
    assert [line.rpartition(": ")[2] for line in lost_task_lines(comparisons)] == lost
    notes = list(powerless_notes(comparisons))
    said = [f"with {len(old)} tasks this comparison cannot fail: a (new) could lose all of them"]
    assert notes == (said if powerless else [])


VOID = "strong answered in place of the run's model"


def test_a_void_row_is_not_compared_and_the_gate_for_regressions_says_why(write) -> None:
    run = {"run_id": "20260102T000000-bbbbbb"}
    before, cheat = write("a", {1: scores(1.0)}), write("b", {1: scores(1.0)}, VOID, **run)
    line = f"the row of b in {cheat} is void, so it is not compared: {VOID}"
    with pytest.raises(UsageError, match=re.escape(line)):
        compared(before, cheat)
    beside = compared(before, cheat, write("c", {1: scores(1.0)}, **run))
    assert [one["candidate"]["agent_name"] for one in beside.document] == ["c"]
    assert beside.document[0]["notes"][-1] == line
    assert f"T{line[1:]}" in text(beside)
    assert beside.failed == ()
    gated = compared(before, cheat, write("c", {1: scores(1.0)}, **run), fail_on_regression=True)
    assert gated.failed == [line]
    for baseline, sides in ((before, cheat), (cheat, before)):
        assert regressions(read_groups([str(baseline)], None)[0], read_groups([str(sides)], None)[0], 0.05) == [line]


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
            for name, query_id in ((name, query_id) for name, queries in trials.items() for query_id in queries):
                store.add_trial(run_id, trial_of(query_id, 0, "agent", framework=name))
    return place


@for_each(
    ("name", "expected"),
    [
        ("202602", [(NEW, "reference"), (NEW, "langgraph:native")]),
        (f"{OLD}/langgraph", [(OLD, "langgraph:native")]),
        ("latest/reference", [(EMPTY, "reference")]),
    ],
)
def test_a_run_and_a_framework_are_found_by_name(store: str, name: str, expected: list[tuple[str, str]]) -> None:
    assert RunComparer().recognises(name)
    sides = read_groups([name], store)[0]
    assert [(side.source, side.name) for side in sides] == expected
    assert {side.about["run_id"] for side in sides} == {source for source, _ in expected}


def test_a_name_that_means_none_or_several_is_refused(store: str) -> None:
    with pytest.raises(DataError, match="several runs begin with '2026'"):
        read_groups(["2026"], store)
    with pytest.raises(UsageError, match="no framework 'crewai'"):
        read_groups(["latest/crewai"], store)


def test_a_report_and_a_comparison_of_a_run_that_lacks_trials_give_the_same_verdicts(store: str) -> None:
    with open_store(store) as reader:
        usual, accepted = (read_report(reader.run(NEW), allow_incomplete=allowed) for allowed in (None, True))
    assert all(summary.common and not summary.comparisons for summary in usual.frameworks)
    (own,) = accepted["langgraph"].comparisons
    (found,) = compared(NEW, store=store, allow_incomplete=True).document
    assert {score: one.as_json() for score, one in own.scores.items()} == found["findings"]


def test_a_run_that_lacks_trials_is_refused_unless_that_is_accepted(store: str) -> None:
    ours, theirs = f"{OLD}/langgraph", f"{NEW}/langgraph"
    lacks = f"run {NEW} is incomplete, with 1 of 2 trials of langgraph:native measured"
    with pytest.raises(UsageError, match=f"{lacks}.*--allow-incomplete"):
        compared(ours, theirs, store=store)
    found = compared(ours, theirs, store=store, allow_incomplete=True)
    (document,) = found.document
    assert document["queries"]["common"] == 1
    states = [(document[side]["status"], document[side]["missing"]) for side in ("baseline", "candidate")]
    assert states == [("finished", 0), ("incomplete", 1)]
    assert f"INCOMPLETE: {lacks}" in text(found)
    with pytest.raises(UsageError, match="have no measured task in common yet"):
        compared(ours, f"{EMPTY}/langgraph", store=store, allow_incomplete=True)


@for_each("values", [(OLD, OLD), (OLD, f"{OLD}/langgraph"), (OLD, NEW, OLD)])
def test_a_run_is_not_compared_with_itself(store: str, values: tuple[str, ...]) -> None:
    with pytest.raises(UsageError, match=f"are the same trials: those of .* in run {OLD}; name another run"):
        compared(*values, store=store, allow_incomplete=True)


@for_each(
    ("place", "value", "said"),
    [
        *(
            (("results", 0, "repeat"), value, "task 1: repeat is .*, not a whole number")
            for value in (-1, 2**70, "a", 0.5)
        ),
        *(
            (("results", 0, "scores", "sopr_score"), value, "task 1: sopr_score is .*, not a number from 0 to 1")
            for value in (5.0, -0.5, "1.0", float("nan"), float("inf"), [1])
        ),
        (("results", 1, "repeat"), 0, "task 1 has repeat 0 more than once"),
        (("summary", "intervals"), None, "lacks 'intervals'"),
        (("results", 0, "query_id"), None, r"a_\.json: not a result document of bench run: it lacks"),
    ],
)
def test_a_document_that_was_changed_by_hand_is_refused(write: Write, place: Any, value: Any, said: str) -> None:
    path = write("a", {1: [{"sopr_score": 1.0}] * 2})
    changed = document = json.loads(path.read_text())
    *parents, last = place
    for key in parents:
        changed = changed[key]
    changed[last] = value
    if value is None:
        del changed[last]
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match=said):
        read_groups([str(path)], None)


def known(side: Side, score: str) -> list[float]:
    """The values of a score in the trials in which it counts."""
    return [value for value in side.column(score).tolist() if not math.isnan(value)]


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
    for read in (list(report.sides.values()), read_groups([OLD], store)[0], read_groups([str(path)], None)[0]):
        reference, other = read
        assert (reference.failures, other.failures) == ({"crash": 1}, {"endpoint": 1})
        assert (reference.first_apart, other.first_apart) == (True, True)
        assert (reference.scores, other.scores) == ([*ALWAYS, "wall_time"], [*ALWAYS, "wall_time"])
        assert known(reference, "sopr_score") == [0.5, 0.0, 0.5, 0.5]
        assert known(reference, "api_f1") == [1.0, 0.0, 1.0, 1.0]
        assert (known(reference, "wall_time"), known(other, "wall_time")) == ([2.0], [2.0] * 2)
        assert known(other, "sopr_score") == [0.5] * 3
