"""The notes below the table of a run."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import replace
from typing import Any
from xml.etree import ElementTree as Xml

import pytest
from support.cases import for_each
from support.run_reports import document, reason, reported

from trialbed.report import Integrity, IntegrityTally, ScoreMean, check_thresholds
from trialbed.scoring import judge_note
from trialbed.views import UNKNOWN
from trialbed_plugins.reporters import JunitReporter

Show = Callable[..., str]


def test_what_scores_mean_is_said_to_those_who_ask_and_only_of_those_shown(show: Show) -> None:
    short = " ".join(show([document()]).split())
    assert "tasks solved" not in short
    assert short.endswith("What each figure means: bench show r1 --legend")
    text = " ".join(show([document()], explained=True).split())
    assert "95 % Wilson interval, clustered" in text
    assert "--legend" not in text
    assert "solved: tasks solved according to the judge (unsure counts half)" in text
    assert "tool F1" not in text


def test_the_reasons_of_failures_stand_below(show: Show) -> None:
    untold = {"score": "sopr_score", **reason("judge", 3, message="judge m: no verdict")}
    failing = document(
        answered_count=16, failed_count=3, not_measured_count=1,
        failures=[reason("agent", 3, message="RuntimeError: no."), reason("endpoint", 1, "not measured")],
        untold_reasons=[untold],
    )  # fmt: skip
    text = " ".join(show([failing]).split())
    assert "3 of 20 trials failed (agent): RuntimeError: no [task 7: bench show r1 reference/7]" in text
    assert "1 of 20 trials were not measured (endpoint): an endpoint" in text.replace("a endpoint", "an endpoint")
    assert "solved could not be determined for 3 trials (judge): judge m: no verdict [task 7: bench" in text
    assert "over the 16 trials without failure alone: solved 0.8" in text


def test_a_run_is_incomplete_without_all_verdicts_too(show: Show) -> None:
    untold = {"score": "sopr_score", **reason("judge", 3, message="no verdict after 3 votes")}
    text = show([document(status="incomplete", untold_reasons=[untold])])
    assert "INCOMPLETE: 3 verdicts are missing; the same command runs what is missing." in text


def test_success_over_repeats_is_said_for_each_k(show: Show) -> None:
    def shown(any_of: dict[int, ScoreMean], each_of: dict[int, ScoreMean]) -> str:
        report = reported(document())
        (only,) = report.frameworks
        success = {"any": any_of, "each": each_of}
        return " ".join(show(replace(report, frameworks=(replace(only, success=success),)), 200).split())

    none, half = ScoreMean(0.0, (0.0, 0.39), 6), ScoreMean(0.5, (0.2, 0.8), 6)
    apart = shown({1: none, 2: half}, {1: none, 2: none})
    assert "solved in any of k trials of a task: pass@1 0.00 [0.00, 0.39], pass@2 0.50 [0.20, 0.80]" in apart
    assert "solved in each of k trials of a task: pass^1 0.00 [0.00, 0.39], pass^2 0.00 [0.00, 0.39]" in apart
    assert "k trials" not in shown({}, {})


def test_the_wires_facts_are_noted(show: Show) -> None:
    claims = {
        "invented": 0, "unreported": 0, "unasked": 4,
        "tokens": {"claimed": 1030, "observed": 1000, "trials": 20, "differ": 3},
        "turns": {"claimed": 10, "observed": 10, "trials": 20, "differ": 0},
    }  # fmt: skip
    odd = document(
        claims=claims,
        max_tokens=64,
        finish_reasons={"stop": 18, "length": 2},
        truncated={"answers": 2, "trials": 1},
        text_calls={"calls": 1, "trials": 1},
        waited={"seconds": 75, "trials": 3},
        translated_requests={"requests": 6, "trials": 2},
        refused_requests={"requests": 5, "trials": 2, "limits": {"max_steps": 4, "max_trial_tokens": 1}},
        first_trials={"count": 4, "kept_apart": True, "averages": {"wall_time": 3.5}},
    )
    text = " ".join(show([odd]).split())
    for note in (
        "claims 1,030 tokens where 1,000 were observed; they differ in 3 of 20 trials",
        "4 calls of tools that no answer of the model asked for; they score nothing",
        "2 trials stopped by the limit: 5 requests past --max-steps or --max-trial-tokens refused",
        "2 answers of the model cut by max_tokens (64), in 1 trial",
        "finish_reason of the model's answers: 18 stop, 2 length",
        "the model wrote 1 call as text instead of sending them, in 1 trial; they count only where the request offered",
        "requests to the model waited to be sent, or to be sent again, for 75 s in 3 trials, which is in wall_time",
        "6 requests in 2 trials put to the model in another dialect, as its endpoint does not speak the framework's",
        "times leave out the first trial of each worker (4), which took 3.5 s on average",
    ):
        assert note in text
    assert "turns where" not in text


def test_who_waited_for_answers_to_be_made_is_said_where_frameworks_differ_in_it(show: Show) -> None:
    first, second = document(), document("other")
    first["summary"]["cached_calls"] = {"calls": 40, "cached": 4}
    second["summary"]["cached_calls"] = {"calls": 40, "cached": 36}
    note = "answered from the cache, without a wait (10 % for reference, 90 % for other)"
    assert note in " ".join(show([first, second]).split())
    second["summary"]["cached_calls"] = {"calls": 40, "cached": 5}
    assert "answered from the cache" not in " ".join(show([first, second]).split())


def test_deviations_and_false_claims_are_noted_by_framework(show: Show) -> None:
    odd = document("odd", deviations=["adds a prompt", "no seed"], claims=None)
    odd["summary"]["claims"] = {**document()["summary"]["claims"], "invented": 2, "unreported": 1}
    text = " ".join(show([document(), odd]).split())
    assert "odd: declared deviations: adds a prompt; no seed" in text
    assert "odd: claims differ from the wire: 2 calls claimed and never made, 1 made and never claimed" in text
    assert "reference: declared" not in text


def test_the_part_of_recorded_answers_is_said(show: Show) -> None:
    totals = {"model_requests": 40, "prompt_tokens": 1_000, "recorded_requests": 10, "recorded_tokens": 100}
    some = document("some")
    some["summary"]["totals"] = totals
    text = " ".join(show([document(), some]).split())
    assert "some: recorded answers: 10 of 40 requests (25 %), 100 of 1,000 tokens (10 %); the model's own times" in text
    assert "reference: recorded" not in text


@pytest.mark.parametrize("brief", [False, True])
def test_trials_that_were_lost_with_their_nodes_are_counted(show: Show, brief: bool) -> None:
    report = reported(document())
    assert "were lost" not in show(report, brief=brief)
    (summary,) = report.frameworks
    run = report.run.model_copy(update={"lost": {"west": 2, "east": 1}})
    text = " ".join(show(replace(report, run=run, frameworks=(replace(summary, run=run),)), brief=brief).split())
    assert "3 trials were lost with their nodes, and ran again: east 1, west 2." in text


def test_repeated_trials_are_said_below_the_table(show: Show) -> None:
    once = " ".join(show([document(repeated={"trials": 1, "replaced": 0})], width=200).split())
    assert "1 failed trial repeated: the first attempt counts" in once
    assert "but in" not in once
    later = " ".join(show([document(repeated={"trials": 3, "replaced": 2})], width=200).split())
    assert "3 failed trials repeated: the first attempt counts, but in 2 a later one, as the adapter" in later
    assert "repeated" not in show([document()])


def test_a_row_that_is_void_has_no_score_and_says_why(show: Show) -> None:
    report = reported(document("reference"), document("cheat"))
    integrity = Integrity(20, {}, "strong answered in place of the run's model")
    report = replace(report, frameworks=(report.frameworks[0], replace(report.frameworks[1], integrity=integrity)))
    shown = show(report)
    text = " ".join(shown.split())
    assert "cheat: VOID: strong answered in place of the run's model; no score is shown" in text
    assert "cheat has no result that counts, as its row is void: strong answered in place" in text
    assert "cheat: over the" not in text
    rows = [line.split() for line in shown.splitlines() if line.startswith("cheat  ")]
    assert rows[0] == ["cheat", "void", UNKNOWN, UNKNOWN]
    stream = io.StringIO()
    JunitReporter().report(report, stream)
    cheat = next(suite for suite in Xml.fromstring(stream.getvalue()) if suite.get("name") == "cheat")
    assert [(case.get("name"), case[0].get("type")) for case in cheat.iter("testcase")] == [("row is void", "void")]
    (own, void) = (check.problem for check in check_thresholds(report.frameworks, {"sopr_score": 0.0}))
    assert own == ""
    assert void == "solved is not shown, as the row is void: strong answered in place of the run's model"


def test_findings_of_integrity_are_noted_by_framework(show: Show) -> None:
    found = {"required_choice": IntegrityTally(9, 3, ()), "added_tool": IntegrityTally(3, 3, ("final_answer",))}
    report = reported(document("smolagents"))
    report = replace(report, frameworks=(replace(report.frameworks[0], integrity=Integrity(3, found)),))
    assert (
        "integrity: 9 requests with a demand for a call, in 3 trials; "
        "3 tools on offer besides the trial's, in 3 trials (final_answer)"
    ) in " ".join(show(report).split())


def test_faults_that_were_put_in_are_noted_in_the_short_table_too(show: Show) -> None:
    report = reported(document())
    (only,) = report.frameworks
    config = only.run.config.model_copy(update={"faults": '{"tools": {"rate": 0.25, "faults": ["error"]}}'})
    run = only.run.model_copy(update={"config": config})
    faulty = replace(report, run=run, frameworks=(replace(only, run=run),))
    for brief in (True, False):
        assert "Faults were put in on purpose: 25 % of the calls of tools (error)." in show(faulty, 200, brief=brief)


CALIBRATION = {
    "labels": "embedded",
    "labels_digest": "d",
    "cases": 137,
    "failures": 0,
    "accuracy": 0.9,
    "accuracy_low": 0.84,
    "accuracy_high": 0.94,
    "kappa": 0.82,
    "kappa_low": 0.73,
    "kappa_high": 0.91,
    "confusion": {},
}


@for_each(
    ("name", "judge", "note"),
    [
        ("rule", None, ""),
        (
            "rule",
            {"model": None, "calibration": CALIBRATION},
            "The judge rule agrees with 90 % [84 %, 94 %] of 137 labelled cases (embedded), kappa 0.82 [0.73, 0.91].",
        ),
        (
            "rule",
            {"model": "m", "calibration": None},
            "The judge rule:m is uncalibrated: `bench judge calibrate` measures how far it agrees with labels.",
        ),
        ("rule", {"model": None, "asked": False, "calibration": CALIBRATION}, ""),
        (
            "rule",
            {"model": "m", "asked": False, "calibration": CALIBRATION, "criteria_calibration": None},
            "m reads the criteria of tasks, and is uncalibrated for them: `bench judge calibrate FILE` measures it "
            "on cases with a criterion.",
        ),
        (
            "judge",
            {"model": None, "calibration": None},
            "The judge is uncalibrated: `bench judge calibrate` measures how far it agrees with labels.",
        ),
    ],
)
def test_the_judge_is_named_with_its_calibration(name: str, judge: dict[str, Any] | None, note: str) -> None:
    assert judge_note(name, judge) == note
