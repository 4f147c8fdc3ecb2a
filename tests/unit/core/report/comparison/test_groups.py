"""Runs beside each other: what is compared, what is refused, and what is said."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from support.cases import for_each

from trialbed.cli import main
from trialbed.contracts import Comparison
from trialbed.errors import DataError, UsageError
from trialbed.report.comparison import (
    Side,
    baseline_comparisons,
    compared_settings,
    complete_sides,
    lost_task_lines,
    powerless_notes,
    read_groups,
    regression_lines,
)
from trialbed.settings import declared_settings
from trialbed.views import markdown
from trialbed_evaluation.calibration import CaseFinding, calibration
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


def compared(*paths: Path, **options: Any) -> Comparison:
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


def test_repeats_of_a_query_count_as_one(write) -> None:
    a = write("a", {1: [scores(0.0), scores(1.0)], 2: [scores(1.0)]})
    b = write("b", {1: scores(1.0), 2: scores(1.0)})
    score = compared(a, b).document[0]["scores"]["sopr_score"]
    assert (score["baseline"], score["difference"]["value"], score["n"]) == (0.75, 0.25, 2)


@pytest.mark.parametrize("score", ["sopr_score", "gold_offered"])
def test_no_share_is_known_exactly_where_no_query_changed(write, score: str) -> None:
    found = compared(*(write(name, {number: {score: 1.0} for number in range(20)}) for name in "ab"))
    difference = found.document[0]["scores"][score]["difference"]
    assert difference["low"] < -0.1 < 0.1 < difference["high"]


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


def test_without_a_common_query_there_is_nothing_to_compare(write) -> None:
    with pytest.raises(UsageError, match="no task in common"):
        compared(write("a", {1: scores(1.0)}), write("b", {"1": scores(1.0)}), force=True)


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


def test_documents_without_digests_are_told_by_the_names_of_their_datasets(write) -> None:
    a, b = (write(name, {1: scores(1.0)}, test_set=name, dataset_digest=None) for name in ("G1", "G3"))
    with pytest.raises(UsageError, match="the datasets differ"):
        compared(a, b)
    same = write("same", {1: scores(1.0)}, test_set="G1", dataset_digest=None)
    assert "sopr_score" in compared(a, same).document[0]["scores"]


def test_it_says_how_far_the_judge_can_be_trusted(write) -> None:
    labels = ["Solved", "Solved", "Unsolved", "Unsure"]
    found = [CaseFinding(id=str(place), label=label, found="Solved") for place, label in enumerate(labels)]
    measured = calibration(found, labels="own.jsonl", labels_digest="0" * 64)
    assert measured is not None
    judge = {"model": None, "prompt": None, "calibration": measured.model_dump()}
    a, b = (write(name, {1: scores(1.0)}, judge=judge) for name in "ab")
    assert (
        text(compared(a, b)).count("The judge rule agrees with 50 % [15 %, 85 %] of 4 labelled cases (own.jsonl)") == 1
    )
    c = write("c", {1: scores(1.0)}, judge=judge | {"calibration": None})
    assert "The judge rule is uncalibrated" in text(compared(a, c))
    assert "The judge" not in text(compared(write("a", {1: {"api_f1": 1.0}}, judge=judge), b))


def test_settings_that_differ_are_named_with_their_values(write) -> None:
    a, b = write("a", {1: scores(1.0)}), write("b", {1: scores(1.0)}, model="gpt-4o", model_name="told", seed=7)
    found = compared(a, b)
    assert found.document[0]["settings"] == {
        "model": ["scripted:gold", "gpt-4o"],
        "model_name": [None, "told"],
        "seed": [0, 7],
    }
    assert 'model: "scripted:gold" and "gpt-4o", which are not the same.' in text(found)
    assert "only 1 task:" in text(found).lower()


def test_each_setting_of_a_run_is_compared_and_one_that_a_version_lacked_has_its_default(write) -> None:
    compared_keys = set(compared_settings())
    assert {item.document for item in declared_settings() if item.document} - {"dataset"} <= compared_keys
    a = write("a", {1: scores(1.0)})
    b = write("b", {1: scores(1.0)}, simulator_model="gpt-4o-mini", sandbox=True)
    found = compared(a, b)
    assert found.document[0]["settings"] == {"simulator_model": [None, "gpt-4o-mini"], "sandbox": [False, True]}
    assert 'simulator model: none and "gpt-4o-mini", which are not the same.' in text(found)


def test_trials_that_count_half_are_said_of_both(write) -> None:
    unsure = write("a", {number: scores(0.5) for number in range(20)})
    solved = write("b", {number: scores(1.0) for number in range(10, 40)})
    (more,) = compared(unsure, solved).tables[0].notes
    assert "b solves 100 % of 10 common tasks, 50 points more than a" in more
    (less,) = compared(solved, unsure).tables[0].notes
    assert "a solves 50 % of 10 common tasks (with 10 unsure as half), 50 points less than b (" in less


def test_frameworks_of_one_name_are_told_apart_by_their_runs(write) -> None:
    runs = [write("a", {1: scores(1.0)}, run_id=f"20260101T00000{n}-aaaaaa") for n in (1, 2)]
    found = compared(*runs)
    assert found.records[0]["baseline"] == "a (20260101T000001-aaaaaa)"
    assert found.records[0]["candidate"] == "a (20260101T000002-aaaaaa)"


def test_frameworks_of_one_name_are_told_apart_by_few_settings_in_which_they_differ(write) -> None:
    runs = [write("a", {1: scores(1.0)}, run_id=f"2026010{n}", model=f"scripted:{n}") for n in (1, 2)]
    found = compared(*runs)
    assert (
        found.tables[0].notes[0].startswith("a (scripted:2) solves 100 % of 1 common task, the same as a (scripted:1)")
    )
    assert found.tables[1].legend[-1] == "a (scripted:1) is of run 20260101, and a (scripted:2) of run 20260102."
    page = found.page() if found.page else ""
    assert "<h1>a (scripted:2) compared with a (scripted:1)</h1>" in page
    assert '<th scope="row">solved</th>' in page
    assert '<th scope="row">tokens</th>' in page, "a page names scores in words"


def test_a_plan_of_faults_is_told_in_words(write) -> None:
    plan = '{"tools": {"rate": 0.5, "faults": ["error"]}}'
    found = compared(*(write("a", {1: scores(1.0)}, run_id=str(n), faults=own) for n, own in enumerate((None, plan))))
    said = text(found)
    assert "a (injected faults) solves 100 % of 1 common task, the same as a (no faults) on every task" in said
    assert "faults: none and 50 % of the calls of tools (error), which are not the same." in said


def test_notes_on_several_comparisons_stand_once_on_a_page_and_what_is_worse_is_alarming(write) -> None:
    good = {number: scores(1.0) for number in range(12)}
    bad = {number: scores(0.0) for number in range(12)}
    found = compared(write("a", good), write("b", bad), write("c", bad))
    page = found.page() if found.page else ""
    assert page.count("better and worse have p below 0.05") == 1
    assert page.count('<tr class="alarming"><th scope="row">solved</th>') == 2
    assert text(found).count("better and worse have p below 0.05") == 2


def test_several_are_held_against_the_first(write) -> None:
    found = compared(*(write(name, {1: scores(1.0)}) for name in "abc"))
    assert [(one["baseline"]["name"], one["candidate"]["name"]) for one in found.document] == [("a", "b"), ("a", "c")]
    assert len(found.tables) == 3
    assert found.tables[0].notes == [
        f"{name} solves 100 % of 1 common task, the same as a on every task." for name in "bc"
    ]


def test_p_values_are_adjusted_over_all_scores_and_candidates(write) -> None:
    ones = {number: {"sopr_score": 1.0, "api_call_score": 1.0} for number in range(20)}
    worse = ones | {number: {"sopr_score": 0.0, "api_call_score": 1.0} for number in range(6)}
    a, b, c = (write(name, trials) for name, trials in (("a", ones), ("b", worse), ("c", worse)))
    alone = compared(a, b).document[0]["findings"]["sopr_score"]
    assert alone["p_adjusted"] == alone["p"]
    both = compared(a, b, c)
    found = [one["findings"]["sopr_score"] for one in both.document]
    assert [one["p_adjusted"] for one in found] == [pytest.approx(2 * alone["p"])] * 2
    assert text(both).count("adjusted by Holm's method over the 2 comparisons made at once") == 2


def test_one_alone_is_not_a_comparison(write) -> None:
    with pytest.raises(UsageError, match="has results of a only; name another run"):
        compared(write("a", {1: scores(1.0)}))


def test_a_document_with_parts_missing_is_named(write) -> None:
    path = write("a", {1: scores(1.0)})
    document = json.loads(path.read_text())
    del document["results"][0]["query_id"]
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match=r"a_\.json: not a result document of bench run: it lacks"):
        compared(path, path)


def test_it_recognises_documents_and_ids(write, tmp_path: Path) -> None:
    recognises = RunComparer().recognises
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"metadata": 1}\n{}\n')
    assert recognises(str(write("a", {})))
    assert recognises("20261121T231039-52d790")
    assert not recognises(str(rows))
    assert not recognises("no-such-file.json")


def test_the_same_gives_the_same_figures(write) -> None:
    a = write("a", {number: scores(number % 3 / 2) for number in range(30)})
    b = write("b", {number: scores(number % 2) for number in reversed(range(30))})
    assert compared(a, b).document == compared(a, b).document


def test_only_a_trial_that_was_not_measured_is_left_out(write) -> None:
    """Of a document that says so; a limit and a model's refusal count as 0."""
    one = write("a", dict.fromkeys((1, 2, 3, 4), scores(1.0)))
    two = write("b", {1: scores(1.0), 2: "model failed", 3: "limit failed", 4: "endpoint not measured"})
    found = compared(one, two).document[0]["scores"]["sopr_score"]
    assert (found["n"], found["candidate"]) == (3, pytest.approx(1 / 3))


def test_a_regression_fails_only_where_that_is_asked_for(write) -> None:
    a = write("a", {number: scores(1.0) for number in range(20)})
    b = write("b", {number: scores(float(number > 8)) for number in range(20)})
    assert compared(a, b).failed == ()
    (line,) = compared(a, b, fail_on_regression=True).failed
    assert line.startswith("b is worse than a: solved differs by -0.4500 [-")
    assert line.endswith("over 20 tasks")
    assert compared(b, a, fail_on_regression=True).failed == []


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


def test_what_is_worse_than_a_baseline_is_told_for_each_score(write) -> None:
    baseline = complete_sides(str(write("a", {number: scores(1.0) for number in range(20)}, run_id="old")), None)
    worse = read_groups([str(write("a", {number: scores(0.0) for number in range(20)}, run_id="new"))], None)[0]
    (line,) = regressions(baseline, worse, 0.05)
    assert line.startswith("a (new) is worse than a (old): solved differs by -1.0000 [-1.0000, -0.6777]")
    assert line.endswith("over 20 tasks")
    other = read_groups(
        [str(write("a", {number: scores(0.0) for number in range(20)}, run_id="b", model="small"))], None
    )[0]
    (line,) = regressions(baseline, other, 0.05)
    assert line.endswith('over 20 tasks; model is "small" in place of "scripted:gold"')
    same = read_groups([str(write("a", {number: scores(1.0) for number in range(20)}, run_id="same"))], None)[0]
    assert regressions(baseline, same, 0.05) == []
    lacking = write("a", {1: scores(1.0)}, run_id="lacking", status="incomplete", num_queries=2)
    with pytest.raises(UsageError, match="1 of 2 trials of a measured"):
        complete_sides(str(lacking), None)


VOID = "strong answered in place of the run's model"


def test_a_void_row_is_not_compared_and_the_gate_for_regressions_says_why(write) -> None:
    run = {"run_id": "20260102T000000-bbbbbb"}
    before, cheat = write("a", {1: scores(1.0)}), write("b", {1: scores(1.0)}, VOID, **run)
    line = f"the row of b in {cheat} is void, so that it is not compared: {VOID}"
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


def test_a_void_row_has_no_rank(write) -> None:
    given = [write(name, {query: scores(value) for query in range(30)}) for name, value in (("a", 1.0), ("b", 0.0))]
    given += [write("c", {query: scores(1.0) for query in range(30)}), write("d", {0: scores(1.0)}, VOID)]
    assert compared(*given).document[0]["ranks"]["sopr_score"] == {"a": [1, 2], "b": [3, 3], "c": [1, 2]}
