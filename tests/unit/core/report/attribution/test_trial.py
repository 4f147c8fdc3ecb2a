from __future__ import annotations

import json
from typing import Any

from jsonschema_rs import Draft202012Validator
from support.memory_runs import result_document
from support.run_reports import run_of
from support.scoring import api_call, gold_call, model_call, sent_call, tool
from support.trials import ended, run_config

from trialbed.records import Failure, Outcome, Query, Score, TrialResult
from trialbed.report import document_schema

QUERIES: dict[int | str, Query] = {1: Query(query_id=1, text="?", apis=(), gold_calls=(gold_call("a", x=1),))}
TOOLS = {None: {1: [tool("a")]}}


RUN = run_of({"agent_name": "reference"}).model_copy(update={"config": run_config(query_ids=(1,))})


def attributed(result: TrialResult, query: Query = QUERIES[1]) -> dict[str, Any]:
    return result_document(RUN, "reference", {1: query}, [result], tools=TOOLS)


def test_entries_have_their_gold_calls_and_the_summary_their_sum() -> None:
    found = attributed(ended("crash", "it died"))
    (call,) = found["results"][0]["gold_calls"]
    assert call["api"] == ["t", "a"]
    assert (call["lost"], call["reason"]) == ("trial failed", "before it was called (crash): it died")
    assert found["summary"]["attribution"]["counts"]["trial failed"] == 1
    schema = document_schema()
    parts = schema["properties"]["summary"]["properties"]["attribution"], schema["$defs"]["entry"]["properties"]
    Draft202012Validator({**parts[0], "$defs": schema["$defs"]}).validate(found["summary"]["attribution"])
    Draft202012Validator({**parts[1]["gold_calls"], "$defs": schema["$defs"]}).validate(
        json.loads(json.dumps(found["results"][0]["gold_calls"]))
    )


def test_trials_that_were_not_measured_have_none() -> None:
    found = attributed(ended("endpoint"))
    assert "gold_calls" not in found["results"][0]
    assert found["summary"]["attribution"]["gold_calls"] == 0


def test_queries_without_gold_calls_add_nothing() -> None:
    found = attributed(ended(), Query(query_id=1, text="?", apis=()))
    assert found["results"][0]["gold_calls"] == []
    assert found["summary"]["attribution"]["shares"]["used"] is None


def test_calls_are_the_agents_own_where_the_scorers_found_none_unasked() -> None:
    """An agent in process may be led by a model that the gateway does not see, beside one that it sees."""
    result = ended()
    wire = result.wire.model_copy(
        update={"model_calls": (model_call(),), "api_calls": (api_call("a", {"x": 1}, started=1),)}
    )
    led = result.model_copy(update={"wire": wire, "scores": (Score(name="unasked_calls", value=0.0, bounded=False),)})
    assert attributed(led)["results"][0]["gold_calls"][0]["lost"] == "not used"
    assert attributed(led.model_copy(update={"scores": ()}))["results"][0]["gold_calls"][0]["lost"] == "not called"


def test_secrets_in_reasons_are_redacted(monkeypatch: Any) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-4711")
    result = ended()
    wire = result.wire.model_copy(
        update={
            "model_calls": (model_call(sent=[sent_call("a", '{"x": 1}')]),),
            "api_calls": (api_call("a", {"x": 1}, error="no entry for sk-canary-4711"),),
        }
    )
    failed = result.model_copy(
        update={"wire": wire, "outcome": Outcome(started_at=result.outcome.started_at, wall_time=1, failure=CRASH)}
    )
    assert "sk-canary" not in str(attributed(failed))


CRASH = Failure(kind="crash", message="sk-canary-4711")
