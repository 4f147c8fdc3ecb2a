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
from trialbed.report import Integrity, Report, decision, headline, main_loss
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


def setup(name: str = "reference", used: int = 60, *, share: float | None = 0.8, **lost: int) -> dict[str, Any]:
    """A setup with this many expected calls that were used, and that were lost at each stage."""
    counts = {**dict.fromkeys(STAGES, 0), **{key.replace("_", " "): count for key, count in lost.items()}, USED: used}
    found = document(name, unsure_count=0, average_sopr_score=share, **({} if share else {"intervals": {}}))
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
            sides = {"baseline": against, "candidate": summary.framework}
            found = replace(finding("sopr_score", {**FOUND, "verdict": verdict}), **sides)
            summary = replace(summary, comparisons=(FrameworkComparison("reference", against, {"sopr_score": found}),))
        summaries.append(summary)
    return replace(report, frameworks=tuple(summaries))


@for_each(
    ("shares", "verdicts", "words"),
    [
        ({"mine": 0.5}, {"mine": "worse"}, "Of 20 tasks, reference solves 80 %; mine solves fewer (50 %, p <0.001)."),
        (
            {"a": 0.9, "b": 0.5, "c": 0.4, "d": 0.85, "e": 0.8},
            {"a": "better", "b": "worse", "c": "worse", "d": "too few", "e": "identical"},
            "Of 20 tasks, reference solves 80 %; a solves more (90 %, p <0.001); b and c solve fewer (40 % to 50 %); "
            "e solves the same; for d no difference is significant; about 30 tasks would settle it.",
        ),
        (
            {"mine": 0.9},
            {"mine": "too few"},
            "mine solves most (90 %), but with 20 tasks no difference from reference is significant; "
            "about 30 tasks would settle it.",
        ),
        (
            {"a": 0.7, "b": 0.6},
            {"a": "too few", "b": "too few"},
            "reference solves most (80 %), but with 20 tasks no difference from it is significant; "
            "about 30 tasks would settle that of a.",
        ),
        (
            {"a": 0.8},
            {"a": "too few"},
            "reference and a solve 80 % of 20 tasks, but not the same; no difference is significant; "
            "about 30 tasks would settle it.",
        ),
        ({"a": 0.8}, {"a": "identical"}, "reference and a solve the same 80 % of 20 tasks (one trial each)."),
        (
            {"a": 0.8, "b": 0.9},
            {"a": "identical", "b": "equivalent"},
            "b, reference and a solve 80 % to 90 % of 20 tasks; b is shown to be within 5 points of reference "
            "(one trial each).",
        ),
        ({"a": 0.5, "b": 0.4, "c": 0.3}, {}, "4 setups solve 30 % to 80 % of 20 tasks."),
        ({"mine": None}, {}, "reference solves 80 % of 20 tasks; mine has no result."),
    ],
)
def test_a_run_has_one_sentence_on_its_setups(
    shares: dict[str, float | None], verdicts: dict[str, str], words: str
) -> None:
    assert (
        headline(compared(setup(), *(setup(name, share=share) for name, share in shares.items()), **verdicts)) == words
    )


def test_one_setup_has_its_interval() -> None:
    assert headline(reported(setup())) == "reference solves 80 % [58 %, 92 %] of 20 tasks."


def test_a_setup_that_failed_in_every_trial_is_said_to() -> None:
    failing = setup("mine", share=0.0)
    failing["summary"] |= {"failed_count": 20, "answered_count": 0, "errors": {"crash": 20}}
    assert headline(compared(setup(), failing, mine="worse")).endswith("; mine failed in every trial (worker died).")


def test_setups_of_several_models_are_compared_with_the_same_settings() -> None:
    labels = ("reference@m", "reference@n", "mine@m", "mine@n")
    found = compared(*map(setup, labels), **{"mine@m": "worse", "mine@n": "identical"})
    assert headline(found) == (
        "Of 20 tasks, mine@m solves fewer than the baseline with the same settings (80 %, p <0.001); "
        "mine@n solves the same as the baseline with the same settings."
    )


def test_a_part_of_a_run_has_no_verdict_unless_that_is_accepted_and_the_sentence_counts_all_missing_trials() -> None:
    config = run_config(frameworks=("reference", "mine"), query_ids=tuple(range(10)))
    run = run_of(config, status="interrupted")
    trials = [
        trial_of(query, scores=[verdict("Solved")], framework=name)
        for name, count in (("reference", 2), ("mine", 1))
        for query in range(count)
    ]
    part = "100 % of the one trial that was measured for every framework"
    end = "The run is incomplete: 17 trials were not measured."
    report, accepted = (report_of(run, {}, trials, allow_incomplete=allowed) for allowed in (None, True))
    assert headline(report) == f"reference and mine solve {part}. {end}"
    assert not any(summary.comparisons for summary in report.frameworks)
    assert headline(accepted) == f"reference and mine solve the same {part} (one trial each). {end}"


def test_what_to_take_follows_from_shown_differences_only() -> None:
    rows = dict(decision(compared(setup(), setup("mine", share=0.5), mine="worse")))
    assert rows == {
        "take": "reference (80 %), the only setup that no other is shown to beat",
        "leave": "mine (50 %): shown to be worse than another setup",
        "not decided": "nothing",
    }
    rows = dict(decision(compared(setup(), setup("mine", share=0.9), mine="too few")))
    assert rows["take"].startswith("no difference between mine and reference is shown")
    assert rows["not decided"] == "which of mine and reference is best (80 % to 90 % of 20 tasks)"
    assert rows["to decide it"].startswith("about 30 tasks: ")
    same = dict(decision(compared(setup(), setup("mine"), mine="identical")))
    assert same["to decide it"] == "more of the same tasks would hardly tell them apart"
    assert decision(reported(setup())) == []


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
