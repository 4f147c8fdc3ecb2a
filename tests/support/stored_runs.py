"""A store with two runs: one of two frameworks in which things went wrong, and an older one."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from support.trials import run_config, run_of

from trialbed.catalogs import open_dataset
from trialbed.records import (
    Answer,
    ApiCall,
    ApiRef,
    ClaimedCall,
    Failure,
    ModelCall,
    Outcome,
    Run,
    Score,
    SentCall,
    Timing,
    ToolSpec,
    TrialKey,
    TrialResult,
    Usage,
    WireLog,
)
from trialbed.store import Store

OLD, NEW = "20260101T120000-aaaaaa", "20260202T120000-bbbbbb"
BEGUN = "20260303T120000-cccccc"
API = ApiRef(category="C", tool_name="Weather", api_name="now")
HOSTILE = "\x9b\ud83d\x1b[2Jcleared\x1b]0;title\x07 \u202ereversed\r\nnext"


def make_store(path: Path) -> None:
    """Write the store: a copy of one that is made once, as most tests about runs begin with it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_made())


@cache
def _made() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder, "made.db")
        _make(path)
        return path.read_bytes()


def _make(path: Path) -> None:
    with Store.open(str(path)) as store:
        for run_id, created, frameworks in (
            (OLD, datetime(2026, 1, 1, 12, tzinfo=UTC), ("reference",)),
            (NEW, datetime(2026, 2, 2, 12, tzinfo=UTC), ("reference", "langgraph:native")),
        ):
            store.create_run(run(run_id, created, frameworks))
            tool = ToolSpec(name="weather_now", description="", parameters={}, api=API)
            store.add_selections(run_id, {1: (tool,)}, 120)
            for framework in frameworks:
                for query_id in (1, "a/b"):
                    store.add_trial(run_id, trial(framework, query_id, wrong=framework != "reference"))


def add_begun_run(path: Path, frameworks: tuple[str, ...] = ("reference", "langgraph:native")) -> None:
    """Add a run, the newest one, of which no trial has ended yet."""
    begun = run(BEGUN, datetime(2026, 3, 3, 12, tzinfo=UTC), frameworks)
    with Store.open(str(path)) as store:
        store.create_run(begun.model_copy(update={"status": "running", "overall_time": 0.0}))


def make_hostile_store(path: Path, text: str) -> Path:
    """Write a store of one run in which the text stands everywhere: in queries, names, tags, calls and answers.

    Returns:
        The folder of the dataset.
    """
    # Queries and names cannot have lone surrogates: files and command lines have none.
    told = text.encode("utf-8", "replace").decode()
    query_id = f"\u202e\u200b{told[:300]}"
    query = {"query_id": query_id, "text": told, "apis": []}
    dataset = path.with_name("queries.json")
    dataset.write_text(json.dumps({"name": "hostile", "queries": [query]}), encoding="utf-8")
    frameworks = ("reference", told[:3000])
    config = run_config(
        frameworks=frameworks,
        query_ids=(query_id,),
        repeat=2,
        model=told[:3000],
        adapter_versions=dict.fromkeys(frameworks, "1"),
        dataset=str(dataset),
        test_set=told[:3000],
        dataset_digest=open_dataset(str(dataset), path.parent).digest(),
    )
    created = datetime(2026, 2, 2, 12, tzinfo=UTC)
    about = {"config_digest": NEW, "tags": (told[:3000], "second"), "note": told}
    stored = run_of(config, NEW, status="incomplete", created_at=created, **about)
    with Store.open(str(path)) as store:
        store.create_run(stored)
        tools = (ToolSpec(name=text[:60], description=text, parameters={}, api=API),)
        store.add_selections(NEW, {query_id: tools}, 120)
        for framework in frameworks:
            for repeat in range(2):
                store.add_trial(NEW, hostile_trial(framework, query_id, repeat, text))
    return path.parent


def hostile_trial(framework: str, query_id: str, repeat: int, text: str) -> TrialResult:
    """A trial in which all that others wrote is this text; the second one failed."""
    api = ApiRef(category=text[:300], tool_name=text[:300], api_name=text[:300])
    asked = [{"role": "system", "content": text}, {"role": "user", "content": text}]
    call = {"function": {"name": text[:300], "arguments": text}}
    first = model_call(
        0.1, asked, {"content": text, "tool_calls": [call]}, (SentCall(name=text[:300], arguments=text),)
    )
    refused = first.model_copy(
        update={"status": 500, "error": text, "started": 0.4, "response": text, "translated": text}
    )
    calls = (
        ApiCall(started=0.2, duration=0.1, api=api, offered=False, arguments={text: text}, response={text: [text]}),
        ApiCall(started=0.3, duration=0.1, api=api, offered=True, arguments={}, error=text, response=text),
    )
    failure = Failure(kind="agent", message=text, detail=text) if repeat else None
    answer = Answer(
        final_answer=text, calls=(ClaimedCall(name=text, api=api, arguments={text: text}),), finish="give_answer"
    )
    detail = {"reason": text} if repeat else {text: [text]}
    scores = (
        Score(name="sopr_score", value=0.0, label=text, detail={"reason": text}),
        Score(name=text[:300], value=0.5, detail=detail),
    )
    return TrialResult(
        trial=f"token-{framework[:9]}-{repeat}",
        key=TrialKey(framework=framework, query_id=query_id, repeat=repeat),
        seed=7,
        outcome=Outcome(started_at=created_at(), wall_time=1, answer=None if failure else answer, failure=failure),
        wire=WireLog(trial="token", opened_at=created_at(), model_calls=(first, refused), api_calls=calls),
        timing=Timing(wall=1, model=0.5, tool=0.1, framework=0.4),
        selected_tools=(text[:60],),
        scores=() if failure else scores,
    )


def created_at() -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC)


def run(run_id: str, created: datetime, frameworks: tuple[str, ...]) -> Run:
    config = run_config(
        frameworks=frameworks,
        query_ids=(1, "a/b"),
        adapter_versions=dict.fromkeys(frameworks, "1"),
        base_url="https://user:hidden-password@models.example/v1",
    )
    return run_of(config, run_id, config_digest=run_id, created_at=created, overall_time=90.0)


def trial(framework: str, query_id: int | str, *, wrong: bool) -> TrialResult:
    """A trial that called the one gold Api; a wrong one with arguments that were refused, and query "a/b" failed."""
    failure = Failure(kind="agent", message=f"ValueError: {HOSTILE}") if wrong and query_id == "a/b" else None
    answer = Answer(final_answer=HOSTILE, calls=(ClaimedCall(name="weather_now", api=API),), finish="give_answer")
    value = 0.0 if wrong else 1.0
    label = "Unsolved" if wrong else "Solved"
    scores = (
        Score(name="sopr_score", value=value, label=label, detail={"method": "rule", "reason": "it lacks 21"}),
        Score(name="api_call_score", value=1.0, detail={"missing": [], "extra": []}),
        Score(name="total_tokens", value=120.0, bounded=False),
    )
    return TrialResult(
        trial=f"token-{framework}-{query_id}",
        key=TrialKey(framework=framework, query_id=query_id),
        seed=7,
        outcome=Outcome(
            started_at=datetime(2026, 1, 1, tzinfo=UTC),
            wall_time=1,
            answer=None if failure else answer,
            failure=failure,
        ),
        wire=wire(wrong=wrong),
        timing=Timing(wall=1, model=0.5, tool=0.1, framework=0.4),
        selected_tools=("weather_now",),
        topped_up_tools=("weather_now",) if wrong else (),
        scores=() if failure else scores,
    )


def wire(*, wrong: bool) -> WireLog:
    asked = [{"role": "user", "content": "How warm is it?"}]
    call = {"function": {"name": "weather_now", "arguments": "{}"}}
    told = [*asked, {"role": "assistant", "tool_calls": [call]}, {"role": "tool", "content": "no city"}]
    return WireLog(
        trial="token-token",
        opened_at=datetime(2026, 1, 1, tzinfo=UTC),
        model_calls=(
            model_call(0.1, asked, {"tool_calls": [call]}, (SentCall(name="weather_now", arguments="{}"),)),
            model_call(0.5, told, {"content": "long " * 200}, ()).model_copy(
                update={"translated": "messages" if wrong else ""}
            ),
        ),
        api_calls=(
            ApiCall(
                started=0.3,
                duration=0.1,
                api=API,
                offered=True,
                arguments={} if wrong else {"city": "Ulm"},
                error="'city' is a required property" if wrong else "",
                response=None if wrong else {"degrees": 21},
            ),
        ),
    )


def model_call(started: float, messages: list[Any], message: dict[str, Any], calls: tuple[SentCall, ...]) -> ModelCall:
    request = json.dumps({"messages": messages, "tools": [{"function": {"name": "weather_now"}}]})
    response = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]})
    return ModelCall(
        started=started,
        duration=0.1,
        status=200,
        request=request,
        response=response,
        request_bytes=len(request),
        response_bytes=len(response),
        usage=Usage(prompt_tokens=50, completion_tokens=10),
        tool_calls=calls,
    )
