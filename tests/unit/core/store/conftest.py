from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import URL, create_engine, text
from support.trials import run_config, run_of

from trialbed.records import (
    Answer,
    ApiCall,
    ApiRef,
    ClaimedCall,
    ModelCall,
    Outcome,
    Run,
    Score,
    SentCall,
    Timing,
    TrialKey,
    TrialResult,
    Usage,
    WireLog,
)
from trialbed.store import Store

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
API = ApiRef(category="C", tool_name="weather", api_name="now")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "new folder" / "state?.db"


@pytest.fixture(params=["sqlite", "postgresql"])
def location(request: pytest.FixtureRequest) -> str:
    """Where a store is to be: a file, and then a database of PostgreSQL."""
    return str(request.getfixturevalue("path" if request.param == "sqlite" else "postgres_url"))


@pytest.fixture
def store(location: str) -> Iterator[Store]:
    with Store.open(location) as opened:
        yield opened


@pytest.fixture
def execute(location: str) -> Callable[..., Any]:
    """Runs a statement on the store's database, beside the store; the first cell of what it finds."""

    def run(statement: str, **values: object) -> Any:
        url = location if "://" in location else URL.create("sqlite", database=location)
        engine = create_engine(url)
        with engine.begin() as connection:
            done = connection.execute(text(statement), values)
            cell = done.scalar() if done.returns_rows else None
        engine.dispose()
        return cell

    return run


@pytest.fixture
def make_run() -> Callable[..., Run]:
    return new_run


@pytest.fixture
def make_trial() -> Callable[..., TrialResult]:
    return new_trial


def new_run(run_id: str = "r1", digest: str = "d1", created: datetime = NOON, **more: Any) -> Run:
    config = run_config(dataset_digest="0" * 64, query_ids=(1, "1"))
    return run_of(config, run_id, **{"config_digest": digest, "created_at": created, "status": "running"} | more)


def new_trial(
    query_id: int | str = 1, framework: str = "reference", repeat: int = 0, body: str = "héllo"
) -> TrialResult:
    model_call = ModelCall(
        started=0.5,
        duration=0.25,
        first_token=0.1,
        status=200,
        request=body,
        response=body * 2,
        request_bytes=6,
        response_bytes=12,
        usage=Usage(prompt_tokens=3, completion_tokens=4),
        tool_calls=(SentCall(name="weather_now", arguments="{", problem="invalid json"),),
    )
    api_call = ApiCall(started=1, duration=0.5, api=API, offered=True, arguments={"a": [1, None]}, response={"b": "ü"})
    return TrialResult(
        trial=f"token-{query_id}",
        key=TrialKey(framework=framework, query_id=query_id, repeat=repeat),
        seed=7,
        outcome=Outcome(
            started_at=NOON,
            wall_time=2,
            answer=Answer(final_answer="42", calls=(ClaimedCall(name="x", arguments="{"),), finish="give_answer"),
        ),
        wire=WireLog(trial="t", opened_at=NOON, model_calls=(model_call, model_call), api_calls=(api_call,)),
        timing=Timing(wall=2, model=0.5, tool=0.5, framework=1),
        selected_tools=("weather_now",),
        scores=(Score(name="b", value=None, detail={"k": [1]}), Score(name="a", value=0.5, label="Unsure")),
    )
