"""``--fail-under``, and what is said of failures beside a machine-readable result."""

from __future__ import annotations

from typing import Any

import pytest
from support.cases import for_each
from support.run_reports import document, reason, reported

from trialbed.cli.run import print_problems
from trialbed.cli.thresholds import below, check_scores, parse_thresholds
from trialbed.errors import UsageError


def summary(agent: str = "a", **figures: Any) -> dict[str, Any]:
    known = {"untold_scores": {}, "quality_scores": ["sopr_score", "api_f1"], "denominators": {}}
    return {"metadata": {"agent_name": agent}, "summary": known | figures}


def test_thresholds_are_read() -> None:
    assert parse_thresholds(["sopr_score=0.8", " api_f1 = 1 "]) == {"sopr_score": 0.8, "api_f1": 1.0}
    assert parse_thresholds(["solved=0.8", "solved[a=b]=1"]) == {"sopr_score": 0.8, "sopr_score[a=b]": 1.0}
    assert parse_thresholds([]) == {}


@for_each("text", ["sopr_score", "sopr_score=", "sopr_score=high", "=0.5", "x=nan", "x=inf", ""])
def test_what_is_no_threshold_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="SCORE=X"):
        parse_thresholds([text])


def test_one_framework_below_is_enough_and_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    documents = [summary("good", average_api_f1=0.9), summary("poor", average_api_f1=0.25)]
    assert below({"api_f1": 0.5}, reported(*documents))
    assert capsys.readouterr().err == "poor: tool F1 is 0.25, below 0.5\n"


def test_the_scores_are_checked_before_a_run() -> None:
    check_scores({"sopr_score": 1.0, "api_f1": 0.1})
    with pytest.raises(UsageError, match="did you mean 'sopr_score'"):
        check_scores({"sopr": 1.0})


@for_each("text", ["sopr_score=2", "api_f1=-0.1", "pass^3=80", "pass@1=1.01"])
def test_a_share_cannot_reach_more_than_one(text: str) -> None:
    with pytest.raises(UsageError, match="is not a share; give a number from 0 to 1"):
        check_scores(parse_thresholds([text]))


@for_each("text", ["total_tokens=100", "wall_time=0.0001", "model_turns=12", "redundant_calls=0"])
def test_a_score_of_which_less_is_better_has_no_least(text: str) -> None:
    with pytest.raises(UsageError, match=r"lower is better, so .*--fail-on-regression"):
        check_scores(parse_thresholds([text]))


@pytest.mark.parametrize("name", ["pass^3", "pass@3"])
def test_repeats_that_a_run_does_not_have(name: str) -> None:
    with pytest.raises(UsageError, match="needs 3 trials of each task, and the run has 2; give --repeat 3"):
        check_scores({name: 0.8}, 2)
    check_scores({name: 0.8}, 3)


@pytest.mark.parametrize(("least", "found"), [(0.46, True), (0.45, False)])
def test_trials_that_could_not_be_scored_count_at_worst(
    least: float, found: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    told = summary(average_sopr_score=0.9, untold_scores={"sopr_score": 5}, denominators={"sopr_score": 5})
    assert below({"sopr_score": least}, reported(told)) is found
    assert ("solved is 0.45 at worst (5 trials could not be scored)" in capsys.readouterr().err) is found


def test_repeats_have_thresholds(capsys: pytest.CaptureFixture[str]) -> None:
    thresholds = parse_thresholds(["pass^3=0.8"], "")
    check_scores(thresholds)
    found = {"metadata": {"agent_name": "a"}, "summary": {"pass_hat_k": {"3": {"value": 0.75}}, "pass_at_k": {}}}
    assert below(thresholds, reported(found))
    assert "a: pass^3 is 0.75, below 0.8" in capsys.readouterr().err
    assert not below({"pass^3": 0.7}, reported(found))
    assert below({"pass@4": 0.1}, reported(found))
    assert "pass@4 is not measured" in capsys.readouterr().err


def test_reasons_control_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    failing = document(failures=[reason("agent", 3, message="RuntimeError: \x1b[2Jno", query_id="\x1b]0;x\x07")])
    print_problems(reported(failing))
    shown = capsys.readouterr().err
    assert shown.startswith(
        "reference: 3 of 20 trials failed (agent): RuntimeError: ?[2Jno [task ?]0;x?: bench show r1 "
    )
    assert shown.rstrip("\n").isprintable()
