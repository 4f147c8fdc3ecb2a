"""A run as a DataFrame."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.memory_runs import stored_run
from support.scoring import api_call
from support.trials import run_config, run_of, trial_of, verdict

from trialbed import open_store
from trialbed.records import ModelCall, Run, Score, TrialResult
from trialbed.store import Store


@pytest.fixture
def location(path: Path) -> str:
    return str(path)


def test_there_is_a_row_for_each_trial_and_a_column_for_each_score(location: str) -> None:
    pytest.importorskip("pandas")
    trials = [
        trial_of("1", 0, "timeout"),
        trial_of(1, 1, "endpoint"),
        trial_of(1, 0, None, [verdict("Unsure"), Score(name="tokens", value=9, bounded=False)]),
    ]
    with stored_run(run_of(run_config(query_ids=(1, "1"), repeat=2)), trials, location=location) as stored:
        frame = stored.to_frame().replace({float("nan"): None})
    names = ["query_id", "repeat", "status", "failure", "answer_status", "sopr_score", "tokens"]
    assert frame[names].values.tolist() == [
        [1, 0, "answered", None, "Unsure", 0.5, 9.0],
        [1, 1, "not measured", "endpoint", None, None, None],
        ["1", 0, "failed", "timeout", None, 0.0, None],
    ]


def call_of(request: dict[str, Any], message: dict[str, Any], **fields: Any) -> ModelCall:
    response = json.dumps({"choices": [{"message": {"role": "assistant", **message}}]})
    sent = json.dumps(request)
    sizes = {"request_bytes": len(sent), "response_bytes": len(response)}
    return ModelCall(started=0.5, duration=1, status=200, request=sent, response=response, **sizes, **fields)


def test_calls_and_messages_have_a_row_each(
    store: Store, location: str, make_run: Callable[..., Run], make_trial: Callable[..., TrialResult]
) -> None:
    pytest.importorskip("pandas")
    store.create_run(make_run("r1"))
    asked = [{"role": "user", "content": "Where is order 7?"}]
    calls = [{"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"id": 7}'}}]
    result = [{"role": "tool", "tool_call_id": "c1", "content": "in Bergen"}]
    made = {"role": "assistant", "content": None, "tool_calls": calls}
    model_calls = (
        call_of({"messages": asked}, {"content": None, "tool_calls": calls}),
        call_of({"messages": [*asked, made, *result]}, {"content": "In Bergen."}),
        call_of({"messages": result}, {}, error="no answer", cause="endpoint"),
    )
    trial = make_trial(1)
    refused = api_call("find", {"id": "x"}, error="invalid arguments")
    wire = trial.wire.model_copy(
        update={"model_calls": model_calls, "api_calls": (api_call("find", {"id": 7}), refused)}
    )
    store.add_trial("r1", trial.model_copy(update={"wire": wire}))
    with open_store(location) as reader:
        run = reader.run("r1")
        called, said = run.calls_frame(), run.messages_frame()
    assert called[["query_id", "place", "api", "error"]].values.tolist() == [
        [1, 0, "find", ""],
        [1, 1, "find", "invalid arguments"],
    ]
    assert called["arguments"].tolist() == [{"id": 7}, {"id": "x"}]
    assert said[["request", "answer", "role", "text"]].values.tolist() == [
        [0, False, "user", "Where is order 7?"],
        [0, True, "assistant", ""],
        [1, False, "tool", "in Bergen"],
        [1, True, "assistant", "In Bergen."],
        [2, False, "tool", "in Bergen"],
    ]
    assert said["calls"].tolist()[1] == [{"id": "c1", "name": "find", "arguments": '{"id": 7}'}]
