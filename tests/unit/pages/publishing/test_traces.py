"""The facts that the trials of a published run have alone."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

from support.trials import run_config

from trialbed.records import Answer, ModelCall, TrialKey
from trialbed_pages.publishing._traces import TrialTraces, traces_of


def trial(framework: str, query: int, *texts: str, finish: Any = "give_answer", cut: str = "") -> Any:
    calls = [
        ModelCall(
            started=place,
            duration=0.1,
            status=200,
            request=json.dumps({"model": "small", "messages": [{"role": "user", "content": text}]}) + cut,
            response="{}",
            request_bytes=1,
            response_bytes=1,
        )
        for place, text in enumerate(texts)
    ]
    answer = None if finish is None else Answer(final_answer="yes", finish=finish)
    key = TrialKey(framework=framework, query_id=query)
    return SimpleNamespace(key=key, outcome=SimpleNamespace(answer=answer), wire=SimpleNamespace(model_calls=calls))


def traces(*trials: Any) -> TrialTraces:
    config = run_config(frameworks=("a", "b", "c"), model="local:small")
    run: Any = SimpleNamespace(config=config, each_counted=lambda: trials)
    return traces_of(run)


def test_set_ups_whose_trials_asked_the_same_have_one_digest_in_whatever_order_they_ended() -> None:
    found = traces(
        trial("a", 1, "one", "two"),
        trial("b", 2, "three"),
        trial("a", 2, "three"),
        trial("b", 1, "one", "two"),
        trial("c", 1, "one", "other"),
        trial("c", 2, "three"),
    ).requests
    assert found["a"] == found["b"] != found["c"]


def test_of_requests_that_are_not_known_whole_nothing_is_said() -> None:
    assert traces(trial("a", 1, "one"), trial("a", 2, "two", cut="… 9 of 99 characters kept]")).requests == {}


def test_trials_that_gave_up_are_known_by_the_finish_of_their_answer() -> None:
    found = traces(trial("a", 1, finish="give_up_and_restart"), trial("a", 2), trial("a", 3, finish=None))
    assert found.gave_up == {TrialKey(framework="a", query_id=1)}
