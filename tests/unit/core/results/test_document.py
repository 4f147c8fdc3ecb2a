from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from trialbed.errors import DataError
from trialbed.records import Failure, Query, Run, Score, TrialResult, Usage
from trialbed.results import document_schema, result_document
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
        detail={"invented": [["a", "b"]], "unreported": [], "sent": [["weather", "now"]], "claimed": []},
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


def test_the_schema_describes_every_key(document: dict[str, Any]) -> None:
    schema = document_schema()
    described = schema["properties"]
    assert set(document["metadata"]) == set(described["metadata"]["properties"])
    assert set(document["summary"]) - {"extra", "average_claimed_vs_observed"} == set(
        described["summary"]["properties"]
    )
    for result in document["results"]:
        assert set(result) | {"error"} == set(schema["$defs"]["entry"]["properties"])


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


def test_errors_stand_apart_and_enter_no_average(document: dict[str, Any]) -> None:
    found = document["summary"]
    assert (found["total_queries"], found["total_trials"]) == (2, 4)
    assert (found["error_count"], found["errors"]) == (1, {"crash": 1})
    assert found["average_api_call_score"] == pytest.approx(0.5)
    assert found["average_system_answer_time"] == pytest.approx((2 + 4 + 2) / 3)


def test_every_average_states_its_denominator(document: dict[str, Any]) -> None:
    found = document["summary"]
    stated = {f"average_{name}" for name in found["denominators"]} & set(found)
    assert stated == {key for key in found if key.startswith("average_")}
    assert found["denominators"]["api_call_score"] == 3
    assert found["denominators"]["sopr_score"] == found["denominators"]["solved"] == 2
    assert found["untold_scores"] == {"sopr_score": 1}


def test_statuses_are_of_the_trials_with_a_verdict(document: dict[str, Any]) -> None:
    found = document["summary"]
    assert (found["solved_count"], found["unsure_count"], found["unsolved_count"]) == (1, 1, 0)
    assert (found["solved_percentage"], found["unsolved_percentage"]) == (50.0, 0.0)
    assert found["average_sopr_score"] == 0.75
    assert (found["finish_count"], found["finish_percentage"]) == (2, pytest.approx(200 / 3))


def test_intervals_count_queries_not_trials(document: dict[str, Any]) -> None:
    low, high, _ = wilson_interval(0.5, 2)
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
    }
    assert document["summary"]["claims"] == {"invented": 1, "unreported": 0}


def test_a_failed_trial_says_why_and_has_no_scores(document: dict[str, Any]) -> None:
    found = document["results"][1]
    assert found["error"] == {"kind": "crash", "message": "it died", "detail": "stderr"}
    assert found["scores"] == {
        "sopr_score": None,
        "api_call_score": None,
        "answer_status": "Error",
        "has_finish": None,
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
