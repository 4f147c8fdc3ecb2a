"""Documents as a whole: their schema, metadata and what they never hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from jsonschema_rs import Draft202012Validator
from support.memory_runs import result_document

from trialbed.errors import DataError
from trialbed.prices import read_prices
from trialbed.records import Failure, Query, Run, Score, TrialResult
from trialbed.report import document_schema
from trialbed.wire.redaction import shown_url

MAY_LACK = {"prices", "helpers", "lost_trials", "plugin_files"}
"""Keys of metadata that only some documents have."""

Make = Callable[..., TrialResult]
Queries = dict[int | str, Query]


def test_documents_satisfy_the_schema(run: Run, queries: Queries, document: dict[str, Any]) -> None:
    validator = Draft202012Validator(document_schema(), validate_formats=True)
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


def test_costs_stand_where_the_prices_are_known(
    run: Run, queries: Queries, results: list[TrialResult], document: dict[str, Any]
) -> None:
    assert "cost" not in document["summary"]["totals"]
    priced = result_document(
        run.model_copy(update={"prices": read_prices("1,2,0.5")}), "reference", queries, results, {}
    )
    Draft202012Validator(document_schema()).validate(json.loads(json.dumps(priced, allow_nan=False)))
    totals, solved = priced["summary"]["totals"], priced["summary"]["solved_count"]
    assert totals["cost"] == (totals["prompt_tokens"] + 2 * totals["completion_tokens"]) / 1_000_000
    assert totals["cost_per_solved"] == (totals["cost"] / solved if solved else None)


def test_recorded_answers_are_counted_where_there_are_any(
    run: Run, queries: Queries, results: list[TrialResult], document: dict[str, Any]
) -> None:
    assert "recorded_requests" not in document["summary"]["totals"]
    wire = results[0].wire
    calls = tuple(call.model_copy(update={"recorded": 1.5 if call.usage else None}) for call in wire.model_calls)
    served = results[0].model_copy(update={"wire": wire.model_copy(update={"model_calls": calls})})
    found = result_document(run, "reference", queries, [served, *results[1:]], {})
    Draft202012Validator(document_schema()).validate(json.loads(json.dumps(found, allow_nan=False)))
    totals = found["summary"]["totals"]
    assert (totals["recorded_requests"], totals["recorded_tokens"]) == (1, 11)


def test_the_schema_describes_every_key(document: dict[str, Any]) -> None:
    schema = document_schema()
    described = schema["properties"]
    assert set(document["metadata"]) | MAY_LACK == set(described["metadata"]["properties"])
    named = set(described["summary"]["properties"])
    averages = {key for key in document["summary"] if key.startswith("average_")}
    assert set(document["summary"]) - {"extra"} - (averages - named) == named - {
        "attribution",
        "integrity",
        "effects",
        "translated_requests",
    }
    assert document["summary"]["average_total_tokens"] is None
    for result in document["results"]:
        assert set(result) | {"error", "earlier_errors", "gold_calls"} == set(schema["$defs"]["entry"]["properties"])


def test_a_key_in_the_endpoints_address_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary+4711")
    url = "https://me:word@example.org/v1?key=sk-canary%2B4711"
    assert shown_url(url) == "https://example.org/v1?key=[redacted]"


def test_metadata_say_what_was_measured_with_what(document: dict[str, Any]) -> None:
    found = document["metadata"]
    assert found["agent_name"] == found["framework"] == "reference"
    assert found["timestamp"] == "2026-01-02T12:00:00+00:00"
    assert (found["framework_version"], found["adapter"], found["deviations"]) == (
        "1.2",
        "trialbed",
        ["adds a prompt"],
    )
    assert (found["num_queries"], found["overall_time"], found["evaluator_model"]) == (2, 9.5, "rule")
    assert found["base_url"] == "https://example.org/v1"


def test_a_plugin_may_not_replace_a_figure(run: Run, queries: Queries) -> None:
    with pytest.raises(DataError, match="'error_count'"):
        result_document(run, "reference", queries, [], {"error_count": 0})


def test_a_trial_of_an_unknown_query_is_an_error(run: Run, queries: Queries, make: Make) -> None:
    with pytest.raises(DataError, match="query 99"):
        result_document(run, "reference", queries, [make(99)], {})


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


def test_entries_stand_in_the_order_of_the_runs_queries(document: dict[str, Any]) -> None:
    order = [(result["query_id"], result["repeat"]) for result in document["results"]]
    assert order == [(2, 0), (2, 1), (1, 0), (1, 1)]
