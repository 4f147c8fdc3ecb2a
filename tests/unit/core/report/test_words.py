"""A run in words: its title, its headline, and the result of each framework in one sentence."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from support.cases import for_each
from support.memory_runs import report_of
from support.run_reports import document, finding, reported
from support.sides import side
from support.stored_runs import NEW, run
from support.trials import cells_of, changed_config, run_config, run_of, trial_of, verdict

from trialbed.attribution import USED, Attribution
from trialbed.records import STAGES, EndpointInfo
from trialbed.report import (
    Conclusion,
    Report,
    ScoreMean,
    conclusions,
    decision,
    fault_note,
    headline,
    main_loss,
    run_title,
)
from trialbed.report.comparison import FrameworkComparison, ScoreFinding, paired_findings

TITLES = {
    ("reference",): "reference with scripted:wrong-args on 3 tasks (mini)",
    ("a", "b"): "a and b with scripted:wrong-args on 3 tasks (mini)",
    ("a", "b", "c", "d"): "4 setups with scripted:wrong-args on 3 tasks (mini)",
    ("a:native", "a:controlled", "b", "c"): "4 setups with scripted:wrong-args on 3 tasks (mini)",
    ("a==1.0", "a==1.1", "b@0.5", "b@0.7"): "4 setups with scripted:wrong-args on 3 tasks (mini)",
}

ENDPOINTS = {
    (("k2", "a"), ("k2", "b")): "Verification: a and b with k2 on 1 task (set)",
    (("k2", "a"), ("k2", "b"), ("k2", "c"), ("k2", "d")): "Verification: 4 endpoints with k2 on 1 task (set)",
    (("k2", "a"), ("k2", "b"), ("m1", "a"), ("m1", "b")): "Verification: 4 endpoints with k2 on 1 task (set)",
}


@for_each("frameworks", TITLES)
def test_a_title_says_what_was_compared(frameworks: tuple[str, ...]) -> None:
    made = run(NEW, datetime(2026, 1, 1, tzinfo=UTC), frameworks)
    config = made.config.model_copy(update={"query_ids": (1, 2, 3), "repeat": 1, "test_set": "mini"})
    config = changed_config(config, model="scripted:wrong-args")
    assert run_title(made.model_copy(update={"config": config})) == TITLES[frameworks]


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("replay:/home/ann/records/kept.cassette", "replay:…/kept.cassette"),
        ("replay:../kept.cassette", "replay:…/kept.cassette"),
        ("replay:kept.cassette", "replay:kept.cassette"),
        ("meta/llama", "meta/llama"),
        ("local:qwen", "local:qwen"),
    ],
)
def test_a_model_that_is_a_file_is_named_without_its_folders(model: str, said: str) -> None:
    made = run(NEW, datetime(2026, 1, 1, tzinfo=UTC), ("reference",))
    config = changed_config(made.config, model=model)
    assert f" with {said} on " in run_title(made.model_copy(update={"config": config}))


def test_the_note_on_faults_says_how_often_there_were_which() -> None:
    plan = {"tools": {"rate": 0.3, "faults": ["error", "rate_limit"]}, "model": {"rate": 0.1, "faults": ["empty"]}}
    assert fault_note(json.dumps(plan)) == (
        "Faults were put in on purpose: 30 % of the calls of tools (error, rate limit); "
        "10 % of the requests to the model (empty)"
    )
    assert fault_note(json.dumps({"model": plan["model"]})) == (
        "Faults were put in on purpose: 10 % of the requests to the model (empty)"
    )
    assert fault_note(None) == ""
    assert fault_note(json.dumps({"tools": {"rate": 0.3, "faults": []}})) == ""


@for_each("pairs", ENDPOINTS)
def test_the_title_of_a_verification_says_that_it_is_one(pairs: tuple[tuple[str, str], ...]) -> None:
    endpoints = tuple(EndpointInfo(label=name, model=model, vendor=name, configuration="c") for model, name in pairs)
    made = run(NEW, datetime(2026, 1, 1, tzinfo=UTC), tuple(one.label for one in endpoints))
    config = changed_config(made.config, query_ids=(1,), repeat=1, test_set="set", model="k2")
    assert run_title(made.model_copy(update={"config": config, "endpoints": endpoints})) == ENDPOINTS[pairs]


def test_a_title_names_the_numbers_of_tools_and_labels_in_words() -> None:
    names = ("reference", "reference@max_tools=20", "reference@temperature=0.5,max_tools=1")
    made = run(NEW, datetime(2026, 1, 1, tzinfo=UTC), names)
    first, second, third = cells_of(*names, model="m", max_tools=5)
    cells = first, second.model_copy(update={"max_tools": 20}), third
    config = made.config.model_copy(update={"cells": cells, "query_ids": (1,)})
    title = run_title(made.model_copy(update={"config": config}))
    said = "reference, reference with 20 tools and reference at temperature 0.5 with 1 tool with m on 1 task"
    assert title.startswith(said)
    assert title.endswith(f"({config.test_set}), with 5 and 20 tools")


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


def paired_finding(candidate: list[float], baseline: list[float], margin: float = 0.05) -> ScoreFinding:
    ours, theirs = (side(name, dict(enumerate(own))) for name, own in (("reference", baseline), ("mine", candidate)))
    (found,) = paired_findings([(ours, theirs)], margin)
    return found["sopr_score"]


def lost(by_framework: int = 0, **counts: int) -> Attribution:
    found = {name.replace("_", " "): count for name, count in counts.items()}
    return Attribution({stage: found.get(stage, 0) for stage in (*STAGES, USED)}, losers={"framework": by_framework})


def conclusion(value: float | None, **parts: Any) -> str:
    return str(Conclusion("mine", "sopr_score", ScoreMean(value, (0.31, 0.86), 10), "10 tasks", **parts))


def test_it_says_what_by_how_much_how_sure_and_what_losses_are_due_to() -> None:
    few = paired_finding([1.0] * 6 + [0.0] * 4, [1.0] * 8 + [0.0] * 2)
    assert few.verdict == "too few"
    assert conclusion(0.6, finding=few, lost=lost(wrong_arguments=6, not_called=5, not_used=3, used=9)) == (
        f"mine solves 60 % of 10 tasks, 20 points less than reference; not significant yet, about {few.queries_needed} "
        "tasks would settle it; 9 of its 23 expected calls were used, and 6 of the other 14 had wrong "
        "arguments."
    )


@for_each(
    ("found", "words"),
    [
        (paired_finding([0.0] * 40, [1.0] * 40), ", 100 points less than reference (significant: p <0.001)."),
        (paired_finding([1.0] * 12, [0.0] * 12), ", 100 points more than reference (significant: p <0.001)."),
        (paired_finding([1.0] * 9, [1.0] * 9), ", the same as reference on every task."),
        (paired_finding([1.0] * 399 + [0.0], [1.0] * 400), ", shown to be within 5 points of reference."),
        (paired_finding([1.0, 0.0], [0.0, 1.0]), "0 points less than reference; not significant yet, about"),
    ],
)
def test_a_verdict_is_said_as_it_is(found: ScoreFinding, words: str) -> None:
    assert words in conclusion(0.5, finding=found)


FAILED: dict[str, Any] = {"measured": 10, "failures": {"agent": 10}}


def test_one_whose_trials_all_failed_is_said_to_have_failed_first() -> None:
    failed = "mine failed in all 10 trials: error in the agent"
    none = [0.0] * 10
    lost_calls = lost(trial_failed=4)
    same = paired_finding(none, none)
    assert conclusion(0.0, finding=same, lost=lost_calls, **FAILED) == f"{failed}; it solves 0 % of 10 tasks."
    worse = conclusion(0.0, finding=paired_finding([0.0] * 40, [1.0] * 40), lost=lost_calls, **FAILED)
    assert worse == f"{failed}; it solves 0 % of 10 tasks, 100 points less than reference (significant: p <0.001)."
    assert conclusion(0.0, **FAILED) == f"{failed}; it solves 0 % [31 %, 86 %] of 10 tasks."
    assert conclusion(None, missing=2, **FAILED) == f"{failed}; 2 of its 12 trials were not measured."
    two = conclusion(0.0, measured=10, failures={"agent": 8, "timeout": 2})
    assert two.startswith("mine failed in all 10 trials: error in the agent (8), timeout (2); it solves")
    assert conclusion(0.0, measured=1, failures={"agent": 1}).startswith("mine failed in its one trial: error in")
    assert conclusion(0.0, measured=10, failures={"agent": 9}).startswith("mine solves 0 %")


@for_each(
    ("found", "words"),
    [
        (lost(5, not_called=3, wrong_arguments=2), "was used: all were lost in the framework."),
        (lost(3, not_called=4, wrong_arguments=1), "was used: 3 of them were lost in the framework."),
        (lost(2, not_made=2), "was used: all were asked for and not made by the framework."),
        (lost(2, trial_failed=2), "was used: all were lost in trials that failed."),
        (lost(1, wrong_arguments=1), "; its one expected call was lost in the framework."),
        (lost(1, not_called=1, wrong_arguments=1), "was used: 1 of them was never made by the model."),
    ],
)
def test_calls_that_the_framework_lost_are_not_put_down_to_the_model(found: Attribution, words: str) -> None:
    assert words in conclusion(0.0, lost=found)


def test_what_failed_and_shown_differences_are_said_first_and_the_baseline_last() -> None:
    names = ("reference", "same", "worse", "failed")
    run = run_of(run_config(frameworks=names, query_ids=tuple(range(12))))
    trials = [
        trial_of(
            query,
            0,
            "crash" if name == "failed" else None,
            [] if name == "failed" else [verdict("Unsolved" if name == "worse" else "Solved")],
            framework=name,
        )
        for name in names
        for query in range(12)
    ]
    report = report_of(run, {}, trials)
    assert [one.framework for one in conclusions(report)] == ["failed", "worse", "same", "reference"]
