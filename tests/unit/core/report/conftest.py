"""A small run, its queries and results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from support.memory_runs import result_document

from trialbed.records import (
    Answer,
    ApiCall,
    ApiRef,
    ClaimedCall,
    Deviation,
    Failure,
    FrameworkInfo,
    GoldCall,
    ModelCall,
    Outcome,
    Query,
    Run,
    RunConfig,
    Score,
    SentCall,
    Timing,
    TrialKey,
    TrialResult,
    Usage,
    WireLog,
)

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
API = ApiRef(category="C", tool_name="weather", api_name="now")


@pytest.fixture
def run() -> Run:
    return Run(
        run_id="r1",
        config=RunConfig(
            frameworks=("reference", "other"),
            adapter_versions={"reference": "trialbed 0.1.0"},
            dataset="mini",
            test_set="mini",
            dataset_digest="0" * 64,
            query_ids=(2, 1),
            model="some-model",
            base_url="https://user:pass@example.org/v1",
            trialbed_version="0.1.0",
        ),
        config_digest="d",
        status="finished",
        created_at=datetime(2026, 1, 2, 13, tzinfo=timezone(timedelta(hours=1))),
        environment_digest="e",
        server_url="http://127.0.0.1:1",
        overall_time=9.5,
        frameworks=(
            FrameworkInfo(
                name="reference",
                version="1.2",
                adapter="trialbed",
                adapter_version="0.1.0",
                python="3.11.7",
                deviations=(Deviation(text="adds a prompt"),),
            ),
        ),
    )


@pytest.fixture
def queries() -> dict[int | str, Query]:
    gold = (GoldCall(api=API),)
    return {
        2: Query(query_id=2, text="second?", apis=(), gold_calls=gold, reference_answer="It is 2."),
        1: Query(query_id=1, text="first?", apis=(), gold_calls=gold),
    }


@pytest.fixture
def make() -> Callable[..., TrialResult]:
    return result


def result(
    query_id: int = 1,
    repeat: int = 0,
    scores: Sequence[Score] = (),
    failure: Failure | None = None,
    wall: float = 2.0,
    **answer: Any,
) -> TrialResult:
    said = Answer(
        **{"final_answer": "sunny", "finish": "give_answer", "calls": (ClaimedCall(name="x", api=API),)} | answer
    )
    bad, good = SentCall(name="weather_now", arguments="{", problem="invalid json"), SentCall(name="w", arguments="{}")
    call = ModelCall(
        started=0,
        duration=1,
        status=200,
        request="ask",
        response="get",
        request_bytes=3,
        response_bytes=4,
        usage=Usage(prompt_tokens=5, completion_tokens=6),
        tool_calls=(bad, good),
    )
    refused = call.model_copy(update={"status": 429, "usage": None, "tool_calls": ()})
    api_call = ApiCall(started=1, duration=1, api=API, offered=True, arguments={}, provenance="cache:template")
    return TrialResult(
        trial="token",
        key=TrialKey(framework="reference", query_id=query_id, repeat=repeat),
        seed=7,
        outcome=Outcome(started_at=NOON, wall_time=wall, answer=None if failure else said, failure=failure),
        wire=WireLog(trial="token", opened_at=NOON, model_calls=(refused, call), api_calls=(api_call,)),
        timing=Timing(wall=wall, model=1, tool=0.5, framework=0.5),
        selected_tools=("weather_now",),
        scores=tuple(scores),
        evaluation_time=0.25,
    )


def sopr(value: float | None, status: str | None = None) -> Score:
    detail = {"method": "rule", "reason": "because", "votes": [status] if status else []}
    failure = None if value is not None else Failure(kind="judge", message="judge rule: none")
    return Score(name="sopr_score", value=value, label=status, detail=detail, failure=failure)


def api(value: float) -> Score:
    return Score(name="api_call_score", value=value)


def finish(value: float) -> Score:
    return Score(name="has_finish", value=value)


@pytest.fixture
def results(make: Callable[..., TrialResult]) -> list[TrialResult]:
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
        make(2, 1, failure=Failure(kind="crash", message="it died", detail="stderr"), wall=100.0),
    ]


@pytest.fixture
def document(run: Run, queries: dict[int | str, Query], results: list[TrialResult]) -> dict[str, Any]:
    return result_document(run, "reference", queries, results, {"extra": 1})
