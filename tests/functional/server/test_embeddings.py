"""Vectors of texts, through OpenAI's SDK."""

from __future__ import annotations

import pytest
from openai import AsyncOpenAI, BadRequestError, PermissionDeniedError
from support.servers import TRIAL, Serve, closed, registration

from trialbed.records import WireLog

TEXTS = ["The weather in Oslo is fine.", "Weather in Oslo", "A recipe of bread"]


def likeness(one: list[float], other: list[float]) -> float:
    return sum(left * right for left, right in zip(one, other, strict=True))


async def test_texts_that_share_words_are_near_each_other_and_requests_are_recorded(serve: Serve) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration(allowed_models=[], limits={"max_steps": 3, "timeout": 60}))
    async with AsyncOpenAI(base_url=f"{client.base_url}/t/{TRIAL}/v1", api_key="x", max_retries=0) as openai:
        first = await openai.embeddings.create(model="text-embedding-3-small", input=TEXTS)
        again = await openai.embeddings.create(
            model="text-embedding-3-small", input=TEXTS[0], dimensions=64, encoding_format="float"
        )
        with pytest.raises(BadRequestError, match="'input' must be a text"):
            await openai.embeddings.create(model="text-embedding-3-small", input=[])
        with pytest.raises(PermissionDeniedError, match="max_steps"):
            await openai.embeddings.create(model="text-embedding-3-small", input="one more")
    vectors = [found.embedding for found in first.data]
    assert [len(vector) for vector in vectors] == [1536] * 3
    assert len(again.data[0].embedding) == 64
    assert likeness(vectors[0], vectors[0]) == pytest.approx(1, abs=1e-4)
    assert likeness(vectors[0], vectors[1]) > 0.5 > likeness(vectors[0], vectors[2])
    log = WireLog.model_validate(await closed(client))
    assert log.model_calls == ()
    assert [(call.status, call.texts, call.tokens) for call in log.embedding_calls] == [
        (200, 3, first.usage.prompt_tokens),
        (200, 1, again.usage.prompt_tokens),
        (400, 0, None),
    ]
    assert {call.model for call in log.embedding_calls[:2]} == {"text-embedding-3-small"}


async def test_vectors_of_a_real_model_are_its_endpoints(serve: Serve) -> None:
    client = await serve(upstream="http://127.0.0.1:9/v1", model_retries=0, endpoint_patience=0)
    await client.post("/control/trials", json=registration(model="real", allowed_models=[]))
    asked = {"model": "text-embedding-3-small", "input": "hi"}
    other = await client.post(f"/t/{TRIAL}/v1/embeddings", json=asked)
    assert (other.status_code, other.json()["error"]["code"]) == (404, "model_not_found")
    unreachable = await client.post(f"/t/{TRIAL}/v1/embeddings", json={**asked, "model": "real"})
    assert unreachable.status_code == 502
    statuses = [call.status for call in WireLog.model_validate(await closed(client)).embedding_calls]
    assert statuses == [404, 502]
