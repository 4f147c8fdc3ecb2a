"""Digests of what setups asked the model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from support.trials import run_config

from trialbed.records import ModelCall, TrialKey
from trialbed_pages.publishing._numbers import request_digests


def trial(framework: str, query: int, *texts: str, cut: str = "") -> Any:
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
    key = TrialKey(framework=framework, query_id=query)
    return SimpleNamespace(key=key, wire=SimpleNamespace(model_calls=calls))


def digests(*trials: Any) -> Mapping[str, str]:
    config = run_config(frameworks=("a", "b", "c"), model="local:small")
    run: Any = SimpleNamespace(config=config, each_counted=lambda: trials)
    return request_digests(run)


def test_setups_whose_trials_asked_the_same_have_one_digest_in_whatever_order_they_ended() -> None:
    found = digests(
        trial("a", 1, "one", "two"),
        trial("b", 2, "three"),
        trial("a", 2, "three"),
        trial("b", 1, "one", "two"),
        trial("c", 1, "one", "other"),
        trial("c", 2, "three"),
    )
    assert found["a"] == found["b"] != found["c"]


def test_of_requests_that_are_not_known_whole_nothing_is_said() -> None:
    assert digests(trial("a", 1, "one"), trial("a", 2, "two", cut="… 9 of 99 characters kept]")) == {}
