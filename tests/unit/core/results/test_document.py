from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from trialbed.errors import DataError
from trialbed.records import Failure, Query, Run, Score, SentCall, TrialResult, Usage
from trialbed.results import document_schema, result_document
from trialbed.results._document import _without_secrets
from trialbed.statistics import wilson_interval

Make = Callable[..., TrialResult]
Queries = dict[int | str, Query]
CRASH = Failure(kind="crash", message="it died", detail="stderr")


def sopr(value: float | None, status: str | None = None) -> Score:
    detail = {"method": "rule", "reason": "because", "votes": [status] if status else []}
    failure = None if value is not None else Failure(kind="judge", message="judge rule: none")
    return Score(name="sopr_score", value=value, label=status, detail=detail, failure=failure)


def api(value: float) -> Score:
    return Score(name="api_call_score", value=value)


def finish(value: float) -> Score:
    return Score(name="has_finish", value=value)


@pytest.fixture
def results(make: Make) -> list[TrialResult]:
    claims = Score(
        name="claimed_vs_observed",
        value=0.0,
        detail={"invented": [["a", "b"]], "unreported": [], "unasked": [["c", "d"]], "sent": [["weather", "now"]]},
        quality=False,
    )
    return [
        make(1, scores=[sopr(1.0, "Solved"), api(1.0), finish(1.0), claims]),
        make(1, 1, scores=[sopr(None), api(0.5), finish(1.0)], wall=4.0),
        make(2, scores=[sopr(0.5, "Unsure"), api(0.0), finish(0.0)], finish=None, final_answer=""),
        make(2, 1, failure=CRASH, wall=100.0),
    ]


@pytest.fixture
def document(run: Run, queries: Queries, results: list[TrialResult]) -> dict[str, Any]:
    return result_document(run, "reference", queries, results, {"extra": 1})


def test_documents_satisfy_the_schema(run: Run, queries: Queries, document: dict[str, Any]) -> None:
    validator = Draft202012Validator(document_schema(), format_checker=Draft202012Validator.FORMAT_CHECKER)
    validator.check_schema(document_schema())
    for some in (document, result_document(run, "other", queries, [], {})):
        validator.validate(json.loads(json.dumps(some, allow_nan=False)))


def test_a_failure_that_was_repeated_in_a_fresh_worker_is_kept(
    run: Run, queries: Queries, results: list[TrialResult]
) -> None:
    answered, failed = results[0], next(result for result in results if result.failed)
    repeated = answered.model_copy(update={"earlier": (failed.outcome,)})
    document = result_document(run, "reference", queries, [repeated], {})
    Draft202012Validator(document_schema()).validate(json.loads(json.dumps(document, allow_nan=False)))
    (entry,) = document["results"]
    assert [error["kind"] for error in entry["earlier_errors"]] == [failed.outcome.failure.kind]
    assert "error" not in entry


def test_the_schema_describes_every_key(document: dict[str, Any]) -> None:
    schema = document_schema()
    described = schema["properties"]
    assert set(document["metadata"]) == set(described["metadata"]["properties"])
    assert set(document["summary"]) - {"extra", "average_claimed_vs_observed"} == set(
        described["summary"]["properties"]
    ) - {"comparisons"}
    for result in document["results"]:
        assert set(result) | {"error", "earlier_errors"} == set(schema["$defs"]["entry"]["properties"])


def test_a_key_in_the_endpoints_address_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary+4711")
    url = "https://me:word@example.org/v1?key=sk-canary%2B4711"
    assert _without_secrets(url) == "https://example.org/v1?key=[redacted]"


def test_metadata_say_what_was_measured_with_what(document: dict[str, Any]) -> None:
    found = document["metadata"]
    assert found["agent_name"] == found["framework"] == "reference"
    assert found["timestamp"] == "2026-01-02T12:00:00+00:00"
    assert (found["framework_version"], found["adapter"], found["capabilities"]) == (
        "1.2",
        "trialbed",
        ["adds a prompt"],
    )
    assert found["deviations"] == found["capabilities"]
    assert (found["num_queries"], found["overall_time"], found["evaluator_model"]) == (2, 9.5, "rule")
    assert found["base_url"] == "https://example.org/v1"


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
    found = result_document(run, "reference", queries, crashed, {}, quality=("sopr_score", "polite"))["summary"]
    assert (found["average_sopr_score"], found["solved_percentage"], found["unsolved_count"]) == (0.0, 0.0, 2)
    assert found["intervals"]["sopr_score"] == pytest.approx(list(wilson_interval(0, 2)[:2]))


def test_figures_over_common_trials_leave_out_the_others(
    run: Run, queries: Queries, results: list[TrialResult]
) -> None:
    found = result_document(run, "reference", queries, results, {}, common={(1, 0), (2, 1)})["summary"]["common"]
    assert (found["trials"], found["averages"]["api_call_score"]) == (2, 0.5)


def test_reasons_name_the_first_of_each_kind_and_its_entry(run: Run, queries: Queries, make: Make) -> None:
    long = Failure(kind="agent", message="first line\n" + "x" * 999, detail="trace")
    results = [
        make(2, failure=CRASH),
        make(2, 1, failure=long),
        make(1, failure=long.model_copy(update={"message": "other"})),
        make(1, 1, scores=[sopr(None)]),
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
    def asked(**fields: Any) -> TrialResult:
        made = make(1, failure=CRASH)
        calls = (made.wire.model_calls[1].model_copy(update=fields), made.wire.model_calls[1])
        return made.model_copy(update={"wire": made.wire.model_copy(update={"model_calls": calls})})

    written = SentCall(name="now", arguments="{}")
    results = [
        asked(finish_reason="length"),
        asked(finish_reason="stop", text_calls=(written, written)),
        asked(status=403, cause="limit", usage=None),
    ]
    document = result_document(run, "reference", queries, results, {})
    found = document["summary"]
    assert found["finish_reasons"] == {"length": 1, "stop": 1}
    assert found["truncated"] == {"answers": 1, "trials": 1}
    assert found["text_calls"] == {"calls": 2, "trials": 1}
    assert found["refused_requests"] == {"requests": 1, "trials": 1, "limits": {"max_steps": 1}}
    assert found["totals"]["total_tokens"] == 5 * 11
    assert found["totals"]["model_requests"] == 6
    wires = [entry["wire"] for entry in document["results"]]
    assert [wire["truncated"] for wire in wires] == [1, 0, 0]
    assert [wire["text_calls"] for wire in wires] == [[], ["now", "now"], []]
    assert [wire["refused"] for wire in wires] == [0, 0, 1]


def test_repeated_trials_are_counted_and_what_they_used_is_in_the_totals(
    run: Run, queries: Queries, make: Make
) -> None:
    def attempt(query_id: int, number: int, failure: Failure | None = None) -> TrialResult:
        return make(query_id, failure=failure).model_copy(update={"attempt": number})

    unmeasured = Failure(kind="endpoint", message="refused")
    counted = [attempt(1, 0, CRASH), attempt(2, 2)]
    earlier = [attempt(1, 1), attempt(2, 0, unmeasured), attempt(2, 1, CRASH)]
    document = result_document(run, "reference", queries, counted, {}, earlier=earlier)
    assert document["summary"]["repeated"] == {"trials": 2, "replaced": 1}
    assert {entry["query_id"]: entry["attempt"] for entry in document["results"]} == {1: 0, 2: 2}
    alone = result_document(run, "reference", queries, counted, {})["summary"]
    assert alone["repeated"] == {"trials": 0, "replaced": 0}
    assert document["summary"]["totals"]["model_requests"] > alone["totals"]["model_requests"]
    again = result_document(run, "reference", queries, [attempt(1, 1)], {}, earlier=[attempt(1, 0, unmeasured)])
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


def test_entries_stand_in_the_order_of_the_runs_queries(document: dict[str, Any]) -> None:
    order = [(result["query_id"], result["repeat"]) for result in document["results"]]
    assert order == [(2, 0), (2, 1), (1, 0), (1, 1)]


def test_an_entry_has_the_whole_story(document: dict[str, Any]) -> None:
    found = document["results"][2]
    assert found["scores"] == {
        "sopr_score": 1.0,
        "api_call_score": 1.0,
        "answer_status": "Solved",
        "has_finish": True,
        "claimed_vs_observed": 0.0,
    }
    assert found["gold_apis"] == found["called_apis"] == [["weather", "now"]]
    assert found["evaluation"]["reason"] == "because"
    assert found["evaluation"]["votes"] == ["Solved"]
    assert [json.loads(node["message"])["name"] for node in found["answer_details"]] == ["weather_now", "Finish"]
    assert found["tokens"]["total_tokens"] == 11
    assert found["tokens"]["claimed"]["total_tokens"] is None
    assert found["timing"]["total_time"] == 2.25
    assert "error" not in found


def test_the_wire_stands_beside_the_claims(document: dict[str, Any]) -> None:
    assert document["results"][2]["wire"] == {
        "model_calls": 2,
        "model_errors": 1,
        "retries": 1,
        "refused": 0,
        "finish_reasons": {},
        "truncated": 0,
        "text_calls": [],
        "request_bytes": 6,
        "response_bytes": 8,
        "api_calls": 1,
        "api_errors": 0,
        "not_offered": 0,
        "cached": 1,
        "sent": [["weather", "now"]],
        "sent_invalid": 1,
        "sent_problems": {"invalid json": 1},
        "observed": [["weather", "now"]],
        "claimed": [["weather", "now"]],
        "invented": [["a", "b"]],
        "unreported": [],
        "unasked": [["c", "d"]],
    }
    found = document["summary"]["claims"]
    assert (found["invented"], found["unreported"], found["unasked"]) == (1, 0, 1)


def test_a_failed_trial_says_why_and_is_0_in_scores_of_quality(document: dict[str, Any]) -> None:
    found = document["results"][1]
    assert found["error"] == {"kind": "crash", "message": "it died", "detail": "stderr"}
    assert found["status"] == "failed"
    assert found["scores"] == {
        "sopr_score": 0.0,
        "api_call_score": 0.0,
        "api_precision": 0.0,
        "api_f1": 0.0,
        "answer_status": "Error",
        "has_finish": False,
    }
    assert found["called_apis"] == [["weather", "now"]]
    assert found["wire"]["sent"] == [["w"]]


def test_a_judge_that_failed_is_no_verdict(document: dict[str, Any]) -> None:
    found = document["results"][3]
    assert found["scores"]["sopr_score"] is None
    assert found["scores"]["answer_status"] == "Error"
    assert found["evaluation"]["reason"] == "judge rule: none"
    assert found["score_details"]["sopr_score"]["failure"]["kind"] == "judge"


def test_claimed_tokens_stand_beside(run: Run, queries: Queries, make: Make) -> None:
    (found,) = result_document(run, "reference", queries, [make(usage=Usage(prompt_tokens=1))], {})["results"]
    assert found["tokens"]["claimed"] == {"prompt_tokens": 1, "completion_tokens": 0, "total_tokens": 1}


def test_a_plugin_may_not_replace_a_figure(run: Run, queries: Queries) -> None:
    with pytest.raises(DataError, match="'error_count'"):
        result_document(run, "reference", queries, [], {"error_count": 0})


def test_a_trial_of_an_unknown_query_is_an_error(run: Run, queries: Queries, make: Make) -> None:
    with pytest.raises(DataError, match="query 99"):
        result_document(run, "reference", queries, [make(99)], {})


def test_a_score_that_lies_about_its_bounds_has_a_mean_and_no_interval(run: Run, queries: Queries, make: Make) -> None:
    odd = [make(1, scores=[Score(name="odd", value=3.0)]), make(2, scores=[Score(name="odd", value=float("nan"))])]
    found = result_document(run, "reference", queries, odd, {})["summary"]
    assert (found["average_odd"], found["denominators"]["odd"]) == (3.0, 1)
    assert "odd" not in found["intervals"]


def test_secrets_and_what_is_no_json_stay_out(
    run: Run, queries: Queries, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-very-secret")
    failure = Failure(kind="agent", message="401 for sk-very-secret", detail="key=sk-very-secret")
    odd = Score(name="odd", value=float("inf"), detail={"x": float("nan")})
    results = [make(1, failure=failure), make(2, final_answer="it is sk-very-secret", scores=[odd])]
    text = json.dumps(result_document(run, "reference", queries, results, {}), allow_nan=False)
    assert "sk-very-secret" not in text
    assert "401 for [redacted]" in text
