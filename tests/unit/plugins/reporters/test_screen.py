"""The screen with which a run ends: the result, a row for each setup, and the cause of most losses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from support.run_reports import document, reason, reported

from trialbed.attribution import USED
from trialbed.records import STAGES, RunCell
from trialbed.report import Integrity, Report

Show = Callable[..., str]

FRAMEWORKS = (
    "reference",
    "langgraph:native",
    "openai-agents:controlled",
    "agent-framework:controlled",
    "pydantic-ai:controlled",
)
MODELS = ("scripted:gold", "local:qwen2.5-coder-1.5b", "gpt-4o-mini")
WORSE = {
    "n": 60,
    "difference": -0.25,
    "low": -0.35,
    "high": -0.15,
    "margin": 0.05,
    "p_adjusted": 0.0001,
    "verdict": "worse",
    "better": [7],
    "worse": [1, 2, 3],
}


def with_calls(found: dict[str, Any], used: int, **lost: int) -> dict[str, Any]:
    """A document with this many expected calls that were used, and that were lost at each stage."""
    counts = {**dict.fromkeys(STAGES, 0), **{key.replace("_", " "): count for key, count in lost.items()}, USED: used}
    found["summary"]["attribution"] = {"counts": counts}
    return found


def crossed() -> Report:
    """Five frameworks with three models."""
    labels = {f"{name}@{model}": (name, model) for model in MODELS for name in FRAMEWORKS}
    documents = [with_calls(document(label, average_cost=0.0123), 60, not_called=3) for label in labels]
    documents[1]["summary"]["comparisons"] = [
        {"kind": "reference", "against": "reference@scripted:gold", "scores": {"sopr_score": WORSE}}
    ]
    report = reported(*documents)
    cells = tuple(RunCell(label=label, framework=name, model=model) for label, (name, model) in labels.items())
    run = report.run.model_copy(update={"config": report.run.config.model_copy(update={"cells": cells})})
    return replace(report, run=run, frameworks=tuple(replace(summary, run=run) for summary in report.frameworks))


def row(text: str, label: str) -> list[str]:
    """The words of a row of the table, which stands below the sentence."""
    table = text.partition("\n\n")[2]
    return next(line.split() for line in table.splitlines() if line.split()[:1] == [label])


def test_each_setup_is_one_line_below_its_model_within_80_columns(show: Show) -> None:
    lines = show(crossed(), brief=True).splitlines()
    assert max(map(len, lines)) <= 80
    head = next(place for place, line in enumerate(lines) if line.startswith("mini "))
    table = lines[head + 1 : head + 1 + len(MODELS) * (1 + len(FRAMEWORKS))]
    assert [line.split()[0] for line in table] == [name for model in MODELS for name in (model, *FRAMEWORKS)]
    assert all("80 % [58, 92]" in line and "$0.0123" in line for line in table if line.startswith(" "))


def test_a_row_has_success_calls_tokens_time_cost_and_verdict(show: Show) -> None:
    worse = with_calls(document("other", average_cost=0.0012), 45, not_called=6, wrong_arguments=9, api_failed=5)
    worse["summary"]["comparisons"] = [{"kind": "reference", "against": "reference", "scores": {"sopr_score": WORSE}}]
    text = show([with_calls(document(average_cost=0.0001), 60), worse], brief=True)
    assert text.partition("\n\n")[0].endswith("Model: scripted:gold. Medians: tokens, time, cost.")
    assert " ".join(row(text, "mini")) == "mini solved calls right tokens time cost verdict"
    assert " ".join(row(text, "other")) == "other 80 % [58, 92] 77 % 1 1.00 s $0.0012 worse"
    assert "\n\nMost losses: other, 45 of its 65 expected calls were used, and 9 of the other 20\nhad wrong" in text
    assert "[58, 92] n=19" in show([document(denominators={"sopr_score": 19})], brief=True)


def test_columns_that_no_setup_has_are_left_out(show: Show) -> None:
    text = show([document()], brief=True)
    assert " ".join(row(text, "mini")) == "mini solved tokens time"
    for heading in ("cost", "failed", "not measured", "verdict", "calls right", "Most losses"):
        assert heading not in text


def test_failed_trials_are_counted_and_the_most_frequent_failure_is_told(show: Show) -> None:
    failures = [reason("crash", 2, message="Segmentation fault."), reason("timeout", 1)]
    failing = with_calls(document("other", answered_count=17, failed_count=3, failures=failures), 0, trial_failed=60)
    text = show([with_calls(document(), 60), failing], 100, brief=True)
    assert " ".join(row(text, "other")) == "other 80 % [58, 92] 0 % 1 1.00 s 3"
    assert text.endswith("\nMost losses: other, 3 of 20 trials failed, 2 of them (crash): Segmentation fault.\n")
    assert "timeout" not in text
    lost = [with_calls(document("a"), 45, not_called=15), document("b")]
    assert "Most losses: a, 45 of its 60 expected calls were used" in show(lost, 100, brief=True)


def test_a_void_row_has_no_figure_and_says_why(show: Show) -> None:
    report = reported(with_calls(document(), 60), with_calls(document("cheat"), 60))
    integrity = Integrity(20, {}, "strong answered in place of the run's model")
    report = replace(report, frameworks=(report.frameworks[0], replace(report.frameworks[1], integrity=integrity)))
    text = show(report, brief=True)
    assert row(text, "cheat") == ["cheat", "void", "-", "-", "-"]
    assert "cheat: VOID: strong answered in place of the run's model; no score is shown" in " ".join(text.split())


def test_an_incomplete_run_of_several_setups_shows_only_what_is_missing(show: Show) -> None:
    missing = with_calls(document(status="incomplete", answered_count=18, not_measured_count=2), 54)
    text = show([missing, with_calls(document("other", status="incomplete"), 60)], brief=True)
    assert row(text, "mini") == ["mini", "not", "measured"]
    assert row(text, "reference") == ["reference", "2"]
    assert "%" not in text
    assert "Medians" not in text
    assert "INCOMPLETE: 2 trials were not measured; the same command runs what is missing." in text
    assert "No scores are shown" in text


def test_an_incomplete_run_that_is_accepted_shows_scores_over_common_queries(show: Show) -> None:
    common = {
        "trials": 9,
        "averages": {"sopr_score": 0.5},
        "denominators": {"sopr_score": 9},
        "intervals": {"sopr_score": (0.2, 0.8)},
    }
    documents = [document(name, status="incomplete", not_measured_count=1, common=common) for name in ("a", "b")]
    text = show(documents, brief=True)
    assert " ".join(row(text, "mini")) == "mini solved not measured"
    assert "50 % [20, 80] n=9" in text
    assert "over the 9 tasks and repeats that were measured for every framework" in " ".join(text.split())


def test_the_words_of_the_first_trial_say_how_many_others_have_them(show: Show) -> None:
    for alike, words in ((2, "; 2 of them"), (1, "; the first of them"), (3, "")):
        refused = reason("endpoint", 3, "not measured", message="status 503", alike=alike)
        text = show([document(status="incomplete", not_measured_count=3, failures=[refused])], 120, brief=True)
        assert f"reference: 3 of 20 trials were not measured (endpoint){words}: status 503 [" in " ".join(text.split())


def test_a_setup_whose_answers_no_judge_graded_has_a_dash(show: Show) -> None:
    unjudged = document("other", average_sopr_score=None, intervals={})
    unjudged["summary"]["denominators"]["sopr_score"] = 0
    unjudged["summary"]["untold_reasons"] = [{"score": "sopr_score", **reason("judge", 20, message="no verdict")}]
    text = show([document(), unjudged], brief=True)
    assert row(text, "other")[:2] == ["other", "-"]
    assert "other: solved could not be determined for 20 trials (judge): no verdict" in " ".join(text.split())
