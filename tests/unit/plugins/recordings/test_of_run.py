"""The recording that a run is."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import numpy as np
from support.trials import cells_of, run_config

from trialbed.records import ModelCall, RunCell
from trialbed_plugins.recordings._of_run import recording_of, requests_of


def test_the_seconds_of_a_slow_fault_are_not_the_models() -> None:
    calls = [
        ModelCall(
            started=place,
            duration=duration,
            waited=waited,
            status=200,
            stream=False,
            request=json.dumps({"messages": [{"role": "user", "content": str(place)}]}),
            response="{}",
            request_bytes=9,
            response_bytes=2,
            fault=fault,
        )
        # The wait for a turn began with the request, and has the seconds of the fault in it.
        for place, (fault, duration, waited) in enumerate([("", 3.0, 1.0), ("slow", 7.0, 0.0), ("slow", 9.0, 6.0)])
    ]
    trial: Any = SimpleNamespace(wire=SimpleNamespace(model_calls=calls), seed=1)
    faults = json.dumps({"model": {"rate": 1, "faults": ["slow"]}, "slow_seconds": 5.0})
    models = ("m@http://h/v1",)
    cells = (RunCell(label=one, framework=one, model=one, told_model="m", model_identity="m") for one in models)
    config = run_config(*cells, faults=faults)
    run: Any = SimpleNamespace(run_id="r", config=config, table=lambda: {"row": np.array([7])})
    run.results_at = lambda rows: iter({(7,): [trial]}[tuple(rows)])
    cassette, _ = recording_of(run)
    assert cassette.model == "m", "it is asked by its name at whatever endpoint"
    config = run_config(cells_of("r", model=models[0])[0].model_copy(update={"told_model": "m"}), faults=faults)
    run.config = config
    assert recording_of(run)[0].identity == "m", "an address may have a password"
    durations = [reply.duration for reply in cassette.replies.values()]
    assert sorted(durations) == [2.0, 2.0, 3.0]


def test_conversations_of_two_trials_with_the_same_request_stay_apart() -> None:
    def call(request: Any, identity: str) -> ModelCall:
        response = {"id": identity, "object": "response", "status": "completed", "output": []}
        return ModelCall(
            started=0 if identity == "r1" else 1,
            duration=1,
            status=200,
            stream=False,
            dialect="responses",
            request=json.dumps(request),
            response=json.dumps(response),
            request_bytes=9,
            response_bytes=9,
        )

    def requests(*calls: ModelCall) -> list[Any]:
        trial: Any = SimpleNamespace(wire=SimpleNamespace(model_calls=calls))
        (cell,) = cells_of("reference", model="m")
        return [json.dumps(request) for _, request in requests_of(trial, cell)]

    second = call({"model": "m", "previous_response_id": "r1", "input": "And then?"}, "r2")
    assert "one trial alone" in requests(call({"model": "m", "input": "Of one trial alone."}, "r1"), second)[1].lower()
    (alone,) = requests(second)
    assert "one trial alone" not in alone
