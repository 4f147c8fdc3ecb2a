from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import numpy as np
import pytest
from support.cases import for_each

from trialbed.errors import ModelFailed
from trialbed.model_access import ModelBudget
from trialbed.prices import read_prices
from trialbed.records import ModelEndpoint
from trialbed_selection.embedders import EndpointEmbedder, _endpoint

KEY = "secret-key-1"
Answer = Callable[[httpx.Request], httpx.Response]


def embedder(answer: Answer) -> EndpointEmbedder:
    endpoint = ModelEndpoint(base_url="http://e/v1/", api_key=KEY, model="m")
    return EndpointEmbedder(endpoint, transport=httpx.MockTransport(answer), wait=0)


def test_texts_go_in_batches_and_come_back_in_order_as_unit_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_endpoint, "BATCH", 2)
    requests = []

    def answer(request: httpx.Request) -> httpx.Response:
        body = json.loads(request.content)
        requests.append((str(request.url), request.headers["authorization"], body["model"], body["input"]))
        rows = [{"index": place, "embedding": [len(text), 0]} for place, text in enumerate(body["input"])]
        return httpx.Response(200, json={"data": rows[::-1]})

    vectors = embedder(answer).embed(["a", "", "c\ud800"])
    assert vectors.tolist() == [[1, 0]] * 3
    assert vectors.dtype == np.float32
    assert requests == [
        ("http://e/v1/embeddings", f"Bearer {KEY}", "m", ["a", "-"]),
        ("http://e/v1/embeddings", f"Bearer {KEY}", "m", ["c?"]),
    ]


def test_what_is_asked_counts_against_its_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_endpoint, "BATCH", 1)
    usages: list[Any] = [{"prompt_tokens": 70}, None, {"prompt_tokens": -1}, {"prompt_tokens": True}]

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"data": [{"index": 0, "embedding": [1]}], "usage": usages.pop(0)})

    endpoint = ModelEndpoint(base_url="http://e/v1", api_key=KEY, model="m")
    budget = ModelBudget(requests=4, prices=read_prices("2,0"))
    counted = EndpointEmbedder(endpoint, budget, transport=httpx.MockTransport(answer), wait=0)
    counted.embed(["a", "b", "c", "d"])
    use = budget.use
    assert (use.requests, use.unreported, use.usage.prompt_tokens, use.cost) == (4, 3, 70, pytest.approx(140e-6))
    with pytest.raises(ModelFailed, match="the budget of 4 requests is used up"):
        counted.embed(["e"])


def test_a_busy_endpoint_is_asked_again() -> None:
    answers = [httpx.Response(429), httpx.Response(200, json={"data": [{"index": 0, "embedding": [3, 4]}]})]
    (vector,) = embedder(lambda request: answers.pop(0)).embed(["a"])
    assert np.allclose(vector, [0.6, 0.8])
    assert not answers


def refused(request: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("refused", request=request)


def sent(embedding: list[float], index: int = 0) -> httpx.Response:
    return httpx.Response(200, json={"data": [{"index": index, "embedding": embedding}]})


@for_each(
    ("answer", "message"),
    [
        (lambda request: httpx.Response(503), "no embeddings after 4 attempts: status 503"),
        (refused, "no embeddings after 4 attempts: ConnectError"),
        (lambda request: httpx.Response(404, text="no such model"), "refused embeddings: status 404: no such model"),
        (lambda request: httpx.Response(200, text="<html>"), "did not send JSON"),
        (lambda request: httpx.Response(200, json={"data": []}), "sent 0 embeddings for 1 texts"),
        (lambda request: httpx.Response(200, json={"data": [{"index": 0}]}), "sent no embeddings"),
        (lambda request: httpx.Response(200, json=[]), "sent no embeddings"),
        (lambda request: sent([]), "that are empty"),
        (
            lambda request: httpx.Response(200, text='{"data": [{"index": 0, "embedding": [NaN]}]}'),
            "than 32-bit numbers",
        ),
        (lambda request: sent([1e39, 1.0]), "than 32-bit numbers"),
        (lambda request: sent([1.0], index=1), "indexes are not those of the texts, 0 to 0"),
        (lambda request: httpx.Response(400, text="the key secret-key-1 is wrong"), "status 400: the key .* is wrong"),
    ],
)
def test_what_is_no_embedding_is_an_error_that_says_why(answer: Answer, message: str) -> None:
    with pytest.raises(ModelFailed, match=message) as raised:
        embedder(answer).embed(["a"])
    assert KEY not in str(raised.value)
