"""The summary of a run: means, counts and their denominators."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.cases import for_each
from support.memory_runs import report_of, result_document

from trialbed.records import (
    Failure,
    FilledArgument,
    LostCall,
    Query,
    Run,
    Score,
    SentCall,
    TrialKey,
    TrialResult,
    Usage,
)
from trialbed.report import how_to_complete, reason_lines
from trialbed.statistics import wilson_interval

Make = Callable[..., TrialResult]
Queries = dict[int | str, Query]
CRASH = Failure(kind="crash", message="it died", detail="stderr")
UNJUDGED = Score(name="sopr_score", value=None, failure=Failure(kind="judge", message="judge rule: none"))


def test_failures_are_0_in_scores_of_quality_and_enter_no_average_of_others(document: dict[str, Any]) -> None:
    found = document["summary"]
    assert (found["total_queries"], found["total_trials"]) == (2, 4)
    assert (found["answered_count"], found["failed_count"], found["not_measured_count"]) == (3, 1, 0)
    assert (found["error_count"], found["errors"]) == (1, {"crash": 1})
    assert found["average_api_call_score"] == pytest.approx(0.375)
    assert (found["average_claimed_vs_observed"], found["denominators"]["claimed_vs_observed"]) == (0.0, 1)
    assert found["average_system_answer_time"] == pytest.approx((2 + 4 + 2) / 3)


def test_means_over_answered_trials_stand_beside(document: dict[str, Any]) -> None:
    found = document["summary"]["over_answered"]
    assert (found["trials"], found["denominators"]["api_call_score"]) == (3, 3)
    assert found["averages"]["api_call_score"] == pytest.approx(0.5)
    assert found["intervals"]["api_call_score"] == pytest.approx(list(wilson_interval(0.5, 2)[:2]))


def test_a_trial_that_was_not_measured_enters_nothing(
    run: Run, queries: Queries, results: list[TrialResult], make: Make
) -> None:
    busy = Failure(kind="endpoint", message="429")
    document = result_document(run, "reference", queries, [*results, make(2, 2, failure=busy)], {})
    found = document["summary"]
    assert (found["answered_count"], found["failed_count"], found["not_measured_count"]) == (3, 1, 1)
    assert found["average_api_call_score"] == pytest.approx(0.375)
    assert found["denominators"]["unsolved"] == 3
    entry = document["results"][2]
    assert entry["status"] == "not measured"
    assert entry["scores"] == {
        "sopr_score": None,
        "api_call_score": None,
        "answer_status": "Error",
        "has_finish": None,
    }


def test_a_trial_that_never_began_was_not_measured(run: Run, queries: Queries, results: list[TrialResult]) -> None:
    longer = run.model_copy(update={"config": run.config.model_copy(update={"repeat": 3})})
    assert result_document(longer, "reference", queries, results, {})["summary"]["not_measured_count"] == 2


def test_other_plugins_scores_count_failures_too_unless_they_say_otherwise(
    run: Run, queries: Queries, make: Make
) -> None:
    given = [Score(name="polite", value=1.0), Score(name="length", value=9, bounded=False)]
    given.append(Score(name="rude", value=0.5, quality=False))
    document = result_document(run, "reference", queries, [make(1, scores=given), make(2, failure=CRASH)], {})
    found = document["summary"]
    assert [found[f"average_{name}"] for name in ("polite", "rude", "length")] == [0.5, 0.5, 9]
    assert "polite" in found["quality_scores"]
    assert document["results"][0]["scores"]["polite"] == 0.0
    assert "rude" not in document["results"][0]["scores"]


def test_a_run_without_an_answer_scores_0_in_what_the_other_frameworks_are_scored_in(
    run: Run, queries: Queries, make: Make
) -> None:
    crashed = [make(1, failure=CRASH), make(2, failure=CRASH)]
    polite = make(1, scores=[Score(name="polite", value=1.0)])
    other = polite.model_copy(update={"key": polite.key.model_copy(update={"framework": "other"})})
    found = result_document(run, "reference", queries, [*crashed, other])["summary"]
    assert (found["average_sopr_score"], found["solved_percentage"], found["unsolved_count"]) == (0.0, 0.0, 2)
    assert found["average_polite"] == 0.0
    assert found["intervals"]["sopr_score"] == pytest.approx(list(wilson_interval(0, 2)[:2]))


def test_figures_over_common_trials_leave_out_the_others(
    run: Run, queries: Queries, results: list[TrialResult], make: Make
) -> None:
    others = [
        make(query_id, repeat).model_copy(update={"key": TrialKey(framework="other", query_id=query_id, repeat=repeat)})
        for query_id, repeat in ((1, 0), (2, 1))
    ]
    incomplete = run.model_copy(update={"status": "incomplete"})
    document = result_document(incomplete, "reference", queries, [*results, *others], allow_incomplete=True)
    found = document["summary"]["common"]
    assert (found["trials"], found["averages"]["api_call_score"]) == (2, 0.5)


def test_reasons_name_the_first_of_each_kind_and_its_entry(run: Run, queries: Queries, make: Make) -> None:
    long = Failure(kind="agent", message="first line\n" + "x" * 999, detail="trace")
    results = [
        make(2, failure=CRASH),
        make(2, 1, failure=long),
        make(1, failure=long.model_copy(update={"message": "other"})),
        make(1, 1, scores=[UNJUDGED]),
    ]
    found = result_document(run, "reference", queries, results, {})["summary"]
    agent, crash = found["failures"]
    assert crash == {
        "kind": "crash", "status": "failed", "count": 1, "message": "it died", "query_id": 2, "repeat": 0, "entry": 0,
    }  # fmt: skip
    assert (agent["count"], agent["entry"], agent["query_id"]) == (2, 1, 2)
    assert agent["message"].startswith("first line xxx")
    assert len(agent["message"]) == 300
    assert found["untold_reasons"] == [
        {
            "score": "sopr_score", "kind": "judge", "count": 1, "message": "judge rule: none", "query_id": 1,
            "repeat": 1, "entry": 3,
        }
    ]  # fmt: skip


@for_each(
    ("messages", "said"),
    [
        (["killed", "killed"], "2 of 2 trials failed (crash): killed [query 1"),
        (["killed", "status 7", "killed"], "3 of 3 trials failed (crash); 2 of them: killed [query 1"),
        (["killed", "status 7", "status 7"], "3 of 3 trials failed (crash); the first of them: killed [query 1"),
    ],
)
def test_a_reason_is_said_of_those_trials_alone_that_have_it(
    run: Run, queries: Queries, make: Make, messages: list[str], said: str
) -> None:
    results = [
        make(1, repeat, failure=CRASH.model_copy(update={"message": message}))
        for repeat, message in enumerate(messages)
    ]
    run = run.model_copy(update={"config": run.config.model_copy(update={"query_ids": (1,), "repeat": len(messages)})})
    report = report_of(run, {1: queries[1]}, results)
    (line,) = (line for line in reason_lines(report["reference"]) if "failed" in line)
    assert line.startswith(said)


def test_a_workers_first_trial_is_kept_apart_in_times(run: Run, queries: Queries, make: Make) -> None:
    def timed(repeat: int, wall: float, *, first: bool) -> TrialResult:
        scores = [Score(name="wall_time", value=wall, bounded=False), Score(name="steps", value=wall, bounded=False)]
        made = make(1, repeat, scores=scores, wall=wall)
        return made.model_copy(update={"outcome": made.outcome.model_copy(update={"first": first})})

    results = [timed(0, 90, first=True), timed(1, 1, first=False), timed(2, 3, first=False)]
    found = result_document(run, "reference", queries, results, {})["summary"]
    assert (found["average_wall_time"], found["medians"]["wall_time"], found["denominators"]["wall_time"]) == (2, 2, 2)
    assert found["quartiles"]["wall_time"] == [1.5, 2.5]
    assert found["average_system_answer_time"] == 2
    assert found["average_steps"] == pytest.approx(94 / 3)
    assert found["first_trials"]["kept_apart"] is True
    assert found["first_trials"]["averages"]["wall_time"] == 90
    alone = result_document(run, "reference", queries, results[:1], {})["summary"]
    assert (alone["average_wall_time"], alone["first_trials"]["kept_apart"]) == (90, False)


def test_the_wires_facts_are_counted_over_all_trials(run: Run, queries: Queries, make: Make) -> None:
    def asked(repeat: int, **fields: Any) -> TrialResult:
        made = make(1, repeat, failure=CRASH)
        calls = (made.wire.model_calls[1].model_copy(update=fields), made.wire.model_calls[1])
        return made.model_copy(update={"wire": made.wire.model_copy(update={"model_calls": calls})})

    written = SentCall(name="now", arguments="{}")
    results = [
        asked(0, finish_reason="length"),
        asked(1, finish_reason="stop", text_calls=(written, written), translated="chat_completions"),
        asked(2, status=403, cause="limit", usage=None),
    ]
    lost = (
        LostCall(position=0, tool="now", reason="no tools"),
        LostCall(position=1, tool="now", reason="arguments", detail="map.x: no such property"),
    )
    filled = (FilledArgument(position=2, tool="now", argument="days", value=1),)
    wire = results[0].wire.model_copy(update={"lost": lost, "filled": filled})
    results[0] = results[0].model_copy(update={"wire": wire})
    document = result_document(run, "reference", queries, results, {})
    found = document["summary"]
    assert found["finish_reasons"] == {"length": 1, "stop": 1}
    waited = report_of(run, queries, [asked(0, waited=2.4), asked(1, waited=1.2), asked(2)])["reference"].wire.waited
    assert (waited.count, waited.trials) == (3, 2)
    assert found["truncated"] == {"answers": 1, "trials": 1}
    assert found["text_calls"] == {"calls": 2, "trials": 1}
    assert found["refused_requests"] == {"requests": 1, "trials": 1, "limits": {"max_steps": 1}}
    assert found["lost_calls"] == {"calls": 2, "trials": 1, "reasons": {"no tools": 1, "arguments": 1}}
    assert found["filled_arguments"] == {"arguments": 1, "trials": 1}
    assert found["translated_requests"] == {"requests": 1, "trials": 1}
    calls = [call for result in results for call in result.wire.api_calls]
    assert found["cached_calls"] == {"calls": len(calls), "cached": sum(1 for call in calls if call.cached)}
    assert found["totals"]["total_tokens"] == 5 * 11
    assert found["totals"]["model_requests"] == 6
    wires = [entry["wire"] for entry in document["results"]]
    assert [wire["truncated"] for wire in wires] == [1, 0, 0]
    assert [wire["text_calls"] for wire in wires] == [[], ["now", "now"], []]
    assert wires[0]["lost"][1] == {
        "position": 1, "tool": "now", "reason": "arguments", "detail": "map.x: no such property"
    }  # fmt: skip
    assert wires[0]["filled"] == [{"position": 2, "tool": "now", "argument": "days", "value": 1}]
    assert [wire["refused"] for wire in wires] == [0, 0, 1]


def test_repeated_trials_are_counted_and_what_they_used_is_in_the_totals(
    run: Run, queries: Queries, make: Make
) -> None:
    def attempt(query_id: int, number: int, failure: Failure | None = None) -> TrialResult:
        return make(query_id, failure=failure).model_copy(update={"attempt": number})

    unmeasured = Failure(kind="endpoint", message="refused")
    counted = [attempt(1, 0, CRASH), attempt(2, 2).model_copy(update={"adapter_digest": "another"})]
    earlier = [attempt(1, 1), attempt(2, 0, unmeasured), attempt(2, 1, CRASH)]
    document = result_document(run, "reference", queries, [*counted, *earlier])
    assert document["summary"]["repeated"] == {"trials": 2, "replaced": 1}
    assert {entry["query_id"]: entry["attempt"] for entry in document["results"]} == {1: 0, 2: 2}
    alone = result_document(run, "reference", queries, counted, {})["summary"]
    assert alone["repeated"] == {"trials": 0, "replaced": 0}
    assert document["summary"]["totals"]["model_requests"] > alone["totals"]["model_requests"]
    again = result_document(run, "reference", queries, [attempt(1, 1), attempt(1, 0, unmeasured)])
    assert again["summary"]["repeated"] == {"trials": 0, "replaced": 0}


def test_claimed_tokens_and_turns_stand_against_those_observed(run: Run, queries: Queries, make: Make) -> None:
    honest = make(1, usage=Usage(prompt_tokens=5, completion_tokens=6), model_turns=1)
    boaster = make(2, usage=Usage(prompt_tokens=500, completion_tokens=6), model_turns=3)
    silent = make(2, 1)
    found = result_document(run, "reference", queries, [honest, boaster, silent], {})["summary"]["claims"]
    assert found["tokens"] == {"claimed": 517, "observed": 22, "trials": 2, "differ": 1}
    assert found["turns"] == {"claimed": 4, "observed": 2, "trials": 2, "differ": 1}


def test_every_average_states_its_denominator(document: dict[str, Any]) -> None:
    found = document["summary"]
    stated = {f"average_{name}" for name in found["denominators"]} & set(found)
    assert stated == {key for key in found if key.startswith("average_")}
    assert found["denominators"]["api_call_score"] == 4
    assert found["denominators"]["sopr_score"] == found["denominators"]["solved"] == 3
    assert found["untold_scores"] == {"sopr_score": 1}


def test_failed_trials_are_unsolved_and_those_without_a_verdict_are_left_out(document: dict[str, Any]) -> None:
    found = document["summary"]
    assert (found["solved_count"], found["unsure_count"], found["unsolved_count"]) == (1, 1, 1)
    assert found["solved_percentage"] == found["unsolved_percentage"] == pytest.approx(100 / 3)
    assert found["average_sopr_score"] == 0.5
    assert (found["finish_count"], found["finish_percentage"]) == (2, 50.0)


def test_intervals_count_queries_not_trials(document: dict[str, Any]) -> None:
    low, high, _ = wilson_interval(0.375, 2)
    assert document["summary"]["intervals"]["api_call_score"] == pytest.approx([low, high])


def test_without_trials_nothing_is_claimed(run: Run, queries: Queries) -> None:
    found = result_document(run, "reference", queries, [], {})["summary"]
    assert found["average_sopr_score"] is found["solved_percentage"] is found["average_system_answer_time"] is None
    assert found["intervals"] == {}
    assert found["denominators"]["sopr_score"] == 0


def test_a_tool_that_failed_is_mended_before_the_run_goes_on(run: Run, queries: Queries, make: Make) -> None:
    report = report_of(run, queries, [make(1, failure=Failure(kind="tool", message="KeyError: 'x'"))])
    assert how_to_complete(report.frameworks).startswith("mend the tool first: ")


def test_a_score_that_lies_about_its_bounds_has_a_mean_and_no_interval(run: Run, queries: Queries, make: Make) -> None:
    odd = [make(1, scores=[Score(name="odd", value=3.0)]), make(2, scores=[Score(name="odd", value=float("nan"))])]
    found = result_document(run, "reference", queries, odd, {})["summary"]
    assert (found["average_odd"], found["denominators"]["odd"]) == (3.0, 1)
    assert "odd" not in found["intervals"]


def test_a_failed_trial_is_0_in_scores_of_gold_arguments_only_where_there_are_some(
    run: Run, queries: Queries, make: Make
) -> None:
    (call,) = queries[2].gold_calls
    given = queries[2].model_copy(update={"gold_calls": (call.model_copy(update={"arguments": {"city": "x"}}),)})
    right = Score(name="argument_accuracy", value=1.0)
    results = [make(2, scores=[right]), make(1, failure=CRASH)]
    document = result_document(run, "reference", {**queries, 2: given}, results, {})
    assert document["summary"]["average_argument_accuracy"] == 1.0
    assert document["summary"]["denominators"]["argument_accuracy"] == 1
    assert "argument_accuracy" not in document["results"][1]["scores"]
    assert document["results"][1]["scores"]["api_f1"] == 0.0
    failed = result_document(run, "reference", {**queries, 2: given}, [*results, make(2, 1, failure=CRASH)], {})
    assert failed["summary"]["average_argument_accuracy"] == 0.5
    assert failed["results"][1]["scores"]["argument_accuracy"] == 0.0
