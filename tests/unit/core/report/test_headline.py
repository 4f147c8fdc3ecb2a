"""The sentence with which a run ends, and the cause of most losses."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from support.cases import for_each
from support.memory_runs import report_of
from support.run_reports import document, finding, reason, reported
from support.trials import run_config, run_of, trial_of, verdict

from trialbed.attribution import USED
from trialbed.records import STAGES
from trialbed.report import Integrity, Report, conclusions, headline, main_loss
from trialbed.report.comparison import FrameworkComparison

FOUND = {
    "n": 20,
    "difference": -0.25,
    "low": -0.35,
    "high": -0.15,
    "margin": 0.05,
    "p_adjusted": 0.0001,
    "better": [],
    "worse": [1, 2, 3],
}


def setup(name: str = "reference", used: int = 60, **lost: int) -> dict[str, Any]:
    """A setup with this many expected calls that were used, and that were lost at each stage."""
    counts = {**dict.fromkeys(STAGES, 0), **{key.replace("_", " "): count for key, count in lost.items()}, USED: used}
    found = document(name, unsure_count=0)
    found["summary"]["attribution"] = {"counts": counts}
    return found


def compared(*documents: dict[str, Any], **verdicts: str) -> Report:
    """A report with these verdicts on setups, each against the reference with the same settings."""
    report = reported(*documents)
    summaries = []
    for summary in report.frameworks:
        verdict = verdicts.get(summary.framework)
        if verdict is not None:
            against = summary.framework.replace("mine", "reference") if "@" in summary.framework else "reference"
            found = replace(finding("sopr_score", {**FOUND, "verdict": verdict}), baseline=against)
            summary = replace(summary, comparisons=(FrameworkComparison("reference", against, {"sopr_score": found}),))
        summaries.append(summary)
    return replace(report, frameworks=tuple(summaries))


def test_of_two_setups_the_compared_one_is_told() -> None:
    assert headline(compared(setup(), setup("mine"), mine="worse")) == (
        "mine solves 80 % of 20 queries, 25 points less than reference (shown: p <0.001)."
    )


def test_setups_that_are_not_compared_have_a_sentence_each() -> None:
    assert headline(reported(setup())) == "reference solves 80 % [58 %, 92 %] of 20 queries."
    assert headline(reported(setup("a"), setup("b"))) == (
        "a solves 80 % [58 %, 92 %] of 20 queries. b solves 80 % [58 %, 92 %] of 20 queries."
    )


@for_each(
    ("verdicts", "words"),
    [
        ({}, "3 setups solve 80 % of 20 queries."),
        (
            {"a": "too few", "b": "identical"},
            "3 setups solve 80 % of 20 queries; none is shown to be better or worse than reference.",
        ),
        ({"a": "worse", "b": "too few"}, "3 setups solve 80 % of 20 queries; shown to be worse than reference: a."),
        (
            {"a": "worse", "b": "better"},
            "3 setups solve 80 % of 20 queries; shown to be better than reference: b; "
            "shown to be worse than reference: a.",
        ),
    ],
)
def test_several_setups_share_a_sentence(verdicts: dict[str, str], words: str) -> None:
    assert headline(compared(setup(), setup("a"), setup("b"), **verdicts)) == words


def test_the_sentence_has_the_span_of_the_results_and_counts_many_names_and_absent_ones() -> None:
    none = document("c", average_sopr_score=None, intervals={}, unsure_count=0)
    low = document("low", average_sopr_score=0.25, unsure_count=0)
    assert (
        headline(reported(low, setup("b"), none)) == "2 setups solve from 25 % to 80 % of 20 queries, 1 has no result."
    )
    assert headline(reported(*(dict(none) for _ in range(3)))) == "No result of 3 setups is shown."
    names = ("a", "b", "c", "d")
    many = compared(setup(), *map(setup, names), **dict.fromkeys(names, "worse"))
    assert headline(many).endswith("; shown to be worse than reference: 4 setups.")


def test_setups_of_several_models_are_compared_with_the_same_settings() -> None:
    labels = ("reference@m", "reference@n", "mine@m", "mine@n")
    found = compared(*map(setup, labels), **{"mine@m": "worse", "mine@n": "too few"})
    assert headline(found).endswith("; shown to be worse than the baseline with the same settings: mine@m.")


def test_a_part_of_a_run_has_no_verdict_unless_that_is_accepted_and_the_sentence_counts_all_missing_trials() -> None:
    config = run_config(frameworks=("reference", "mine"), query_ids=tuple(range(10)))
    run = run_of(config, status="interrupted")
    trials = [
        trial_of(query, scores=[verdict("Solved")], framework=name)
        for name, count in (("reference", 2), ("mine", 1))
        for query in range(count)
    ]
    part = "of the one trial that was measured for every framework"
    end = "The run is incomplete: 17 trials were not measured."
    report, accepted = (report_of(run, {}, trials, allow_incomplete=allowed) for allowed in (None, True))
    assert headline(report) == (
        f"reference solves 100 % [21 %, 100 %] {part}. mine solves 100 % [21 %, 100 %] {part}. {end}"
    )
    assert not any(summary.comparisons for summary in report.frameworks)
    same = f"mine solves 100 % {part}, the same as reference on every query"
    assert headline(accepted) == f"{same}. {end}"
    assert str(conclusions(accepted)[0]) == f"{same}; 9 of its 10 trials were not measured."


def test_most_losses_name_the_setup_with_most_of_them() -> None:
    few, most = setup("few", not_called=1), setup("most", 45, not_called=6, wrong_arguments=9)
    assert main_loss(reported(few, most)) == (
        "most, 45 of its 60 expected calls were used, and 9 of the other 15 had wrong arguments."
    )
    assert main_loss(reported(setup(), setup("other"))) == ""


def test_failed_trials_come_before_lost_calls() -> None:
    failing = setup("failing", 59, trial_failed=1)
    failing["summary"] |= {
        "failed_count": 3,
        "failures": [reason("crash", 2, message="It died."), reason("timeout", 1)],
    }
    report = reported(setup("lossy", 1, not_called=59), failing)
    assert main_loss(report) == "failing, 3 of 20 trials failed, 2 of them (crash): It died."
    failing["summary"] |= {"failures": [reason("crash", 3, message="It died.")]}
    assert main_loss(reported(failing)) == "failing, 3 of 20 trials failed (crash): It died."
    failing["summary"] |= {"failed_count": 0, "failures": [reason("endpoint", 2, "not measured")]}
    assert main_loss(reported(failing)).startswith("failing, 59 of its 60 expected calls were used")


def test_a_void_row_loses_nothing() -> None:
    report = reported(setup(), setup("void", 1, not_called=59))
    void = replace(report.frameworks[1], integrity=Integrity(20, {}, "another model answered"))
    assert main_loss(replace(report, frameworks=(report.frameworks[0], void))) == ""
