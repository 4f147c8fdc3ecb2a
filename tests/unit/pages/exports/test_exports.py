"""Runs in the forms of other programs."""

from __future__ import annotations

import gc
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.garbage import leave_out_what_stays
from support.trials import ended, run_config

from trialbed.records import (
    Annotation,
    Answer,
    ApiCall,
    ApiRef,
    ModelCall,
    Query,
    Run,
    Score,
    SentCall,
    ToolSpec,
    TrialResult,
    Usage,
)
from trialbed.store import Store, StoredRun, open_store
from trialbed_pages.exports.command import trial_lines

RUN = "20260101T120000-aaaaaa"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
API = ApiRef(category="C", tool_name="Weather", api_name="now")
HOSTILE = "\ud83d\x1b[2J\u202eé"


def answered() -> TrialResult:
    call = {"id": "c1", "type": "function", "function": {"name": "weather_now", "arguments": '{"city": "Ulm"}'}}
    asked = [{"role": "user", "content": "How warm is it?"}]
    result = {"role": "tool", "tool_call_id": "c1", "content": "21"}
    told = [*asked, {"role": "assistant", "tool_calls": [call]}, result]
    tools = [{"type": "function", "function": {"name": "weather_now", "parameters": {"type": "object"}}}]

    def request(messages: list[Any], message: dict[str, Any], calls: tuple[SentCall, ...], started: float) -> ModelCall:
        return ModelCall(
            started=started,
            duration=0.5,
            status=200,
            request=json.dumps({"model": "m", "temperature": 0, "messages": messages, "tools": tools}),
            response=json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}),
            request_bytes=1,
            response_bytes=1,
            usage=Usage(prompt_tokens=5, completion_tokens=6),
            finish_reason="stop",
            tool_calls=calls,
        )

    made = ended()
    sent = (SentCall(name="weather_now", arguments='{"city": "Ulm"}'),)
    wire = made.wire.model_copy(
        update={
            "opened_at": NOON,
            "model_calls": (
                request(asked, {"role": "assistant", "tool_calls": [call]}, sent, 0.0),
                request(told, {"role": "assistant", "content": f"21 {HOSTILE}"}, (), 1.0),
            ),
            "api_calls": (
                ApiCall(started=0.6, duration=0.1, api=API, offered=True, arguments={"city": "Ulm"}, response=21),
            ),
        }
    )
    answer = Answer(final_answer=f"21 {HOSTILE}", finish="give_answer")
    outcome = made.outcome.model_copy(update={"answer": answer, "started_at": NOON})
    scores = (Score(name="sopr_score", value=1.0, label="Solved"), Score(name="api_f1", value=0.5))
    return made.model_copy(update={"wire": wire, "outcome": outcome, "scores": scores})


@pytest.fixture
def run(tmp_path: Path) -> Iterator[StoredRun]:
    place = str(tmp_path / "runs.db")
    with Store.open(place) as store:
        config = run_config(query_ids=(1, "a/b"))
        store.create_run(
            Run(
                run_id=RUN,
                config=config,
                config_digest="c",
                status="finished",
                created_at=NOON,
                environment_digest="",
            )
        )
        crashed = ended("crash", "it died")
        store.add_trial(RUN, crashed.model_copy(update={"key": crashed.key.model_copy(update={"query_id": "a/b"})}))
        store.add_trial(RUN, answered())
        store.add_selections(RUN, {1: (ToolSpec(name="weather_now", description="", parameters={}, api=API),)}, 120)
    with open_store(place) as reader:
        yield reader.run(RUN)


def test_each_line_is_a_trial_with_all_of_it(run: StoredRun) -> None:
    first, second = (json.loads(json.dumps(line)) for line in trial_lines(run))
    assert (first["query_id"], first["status"], first["scores"]) == (1, "answered", {"sopr_score": 1.0, "api_f1": 0.5})
    assert (first["run_id"], first["model"], first["query_text"]) == (RUN, "scripted:gold", None)
    assert TrialResult.model_validate(first["trial"]) == run.trial("reference", 1)
    assert (second["query_id"], second["trial"]["outcome"]["failure"]["message"]) == ("a/b", "it died")
    queries = {1: Query(query_id=1, text="How warm?", apis=())}
    assert [line["query_text"] for line in trial_lines(run, queries)] == ["How warm?", None]
    said = Annotation(framework="reference", query_id=1, rating="wrong", note="no source")
    noted = replace(run, record=run.record.model_copy(update={"annotations": (said,)}))
    found = [line["annotation"] for line in trial_lines(noted)]
    assert found == [{"rating": "wrong", "note": "no source", "correction": ""}, None]


def test_an_export_holds_a_part_of_the_trials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("trialbed.store._stored.IN_PART", 5)
    queries = tuple(range(40))
    path = str(tmp_path / "t.db")
    with Store.open(path) as store:
        config = run_config(query_ids=queries)
        about = {"config_digest": "d", "status": "finished", "created_at": NOON, "environment_digest": ""}
        store.create_run(Run(run_id=RUN, config=config, **about))
        one = answered()
        keys = [one.key.model_copy(update={"query_id": query}) for query in queries]
        store.add_trials(RUN, [one.model_copy(update={"key": key}) for key in keys])
    held = []
    leave_out_what_stays()
    with open_store(path) as reader:
        for place, _ in enumerate(trial_lines(reader.run(RUN))):
            if place % 13 == 12:
                held.append(sum(isinstance(one, TrialResult) for one in gc.get_objects()))
        assert place == 39
    # Those of the test itself, of which there is one, and a part.
    assert max(held) <= 1 + 5 + 1
