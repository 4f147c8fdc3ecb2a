"""The recording that a run is."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from support.cases import for_each

from trialbed.contracts import ServedAnswer
from trialbed.records import ModelCall
from trialbed_plugins.recordings._cache import KeptAnswer, ModelCache
from trialbed_plugins.recordings._of_run import requests_of

REQUEST = {"messages": [{"role": "user", "content": "Where?"}]}


@for_each("stream", [False, True])
def test_a_body_from_the_cache_is_a_stream_where_it_was_kept_as_one(tmp_path: Path, stream: bool) -> None:
    with closing(ModelCache(tmp_path / f"{stream}.db")) as cache:
        cache.keep("k", KeptAnswer(json.dumps(REQUEST), ServedAnswer(b"data: {}", stream, 1.0), "chat"))
        call = ModelCall(
            started=0,
            duration=1,
            status=200,
            stream=not stream,
            request="",
            response="",
            request_bytes=9,
            response_bytes=9,
            cache_key="k",
            recorded=1,
        )
        trial: Any = SimpleNamespace(wire=SimpleNamespace(model_calls=[call]))
        config: Any = SimpleNamespace(told_model="m", model="m")
        ((found, request),) = requests_of(trial, config, cache=cache)
        assert (found.response, found.stream, request) == ("data: {}", stream, REQUEST)
