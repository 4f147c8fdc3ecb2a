"""Models of other distributions: one may refuse, and one that never returns costs its own trial alone."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from support.servers import TRIAL, Serve, closed, registration

CHAT = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Oslo?"}]}
MODULE = """
import time
from trialbed.contracts import ModelDriver, ModelInfo, ModelReply, TrialModel
from trialbed.wire import ModelAnswer

class Odd(TrialModel):
    async def answer(self, question):
        if question.request.messages[-1].text == "hang":
            while True:
                time.sleep(0.01)
        if question.request.messages[-1].text == "refuse":
            return ModelReply(body=b"Later.", status=429, content_type="text/plain", headers={"Retry-After": "7"})
        return ModelReply(ModelAnswer(content="fine", finish_reason="stop"))

    def complete(self, log):
        if self.name == "late":
            time.sleep(100)
        return log

class Odds(ModelDriver):
    contract = "1"

    def describe(self, name, settings):
        return ModelInfo()

    def begin(self, name, registration):
        model = Odd()
        model.name = name
        return model
"""


@pytest.fixture
def odd(fake_distribution: Callable[..., Any]) -> None:
    """A driver of models that hang."""
    fake_distribution(
        "trialbed-odd", entry_points={"trialbed.models": {"odd": "odd_models:Odds"}}, modules={"odd_models": MODULE}
    )


@pytest.mark.usefixtures("odd")
@pytest.mark.parametrize(("before", "cause"), [((), "gateway"), (("hello",), "request")])
async def test_a_model_that_hangs_holds_up_no_other_trial(serve: Serve, before: tuple[str, ...], cause: str) -> None:
    client = await serve()
    limits = {"max_steps": 5, "timeout": 1.5}
    await client.post("/control/trials", json=registration(model="odd:quick", limits=limits))
    await client.post("/control/trials", json=registration(trial="other-token"))
    for text in before:
        said = await client.post(f"/t/{TRIAL}/v1/chat/completions", json=asking(text))
        assert said.json()["choices"][0]["message"]["content"] == "fine"
    hanging = asyncio.ensure_future(client.post(f"/t/{TRIAL}/v1/chat/completions", json=asking("hang")))
    await asyncio.sleep(0.1)
    began = time.monotonic()
    for _ in range(3):
        assert (await client.get("/healthz")).status_code == 200
        assert (await client.post("/t/other-token/v1/chat/completions", json=CHAT)).status_code == 200
    assert time.monotonic() - began < 1
    refused = await hanging
    assert refused.status_code == 500
    assert "did not return within 1.5 s (File" in refused.json()["error"]["message"]
    *_, call = (await closed(client))["model_calls"]
    assert call["cause"] == cause


@pytest.mark.usefixtures("odd")
async def test_a_model_refuses_in_its_own_words(serve: Serve) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration(model="odd:quick"))
    refused = await client.post(f"/t/{TRIAL}/v1/chat/completions", json=asking("refuse"))
    assert (refused.status_code, refused.text, refused.headers["retry-after"]) == (429, "Later.", "7")
    assert refused.headers["content-type"] == "text/plain"
    (call,) = (await closed(client))["model_calls"]
    assert (call["status"], call["response"]) == (429, "Later.")


@pytest.mark.usefixtures("odd")
async def test_a_model_that_never_completes_its_log_is_left_out_of_it(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trialbed_server.trials.CLOSING_SECONDS", 0.5)
    client = await serve()
    await client.post("/control/trials", json=registration(model="odd:late"))
    await client.post(f"/t/{TRIAL}/v1/chat/completions", json=CHAT)
    closing = asyncio.ensure_future(closed(client))
    await asyncio.sleep(0.1)
    async with asyncio.timeout(0.4):
        assert (await client.get("/healthz")).status_code == 200
    log = await closing
    assert len(log["model_calls"]) == 1
    assert log["failure"]["message"].startswith("odd:late: complete() did not return within 0.5 s")


def asking(text: str) -> dict[str, Any]:
    return CHAT | {"messages": [{"role": "user", "content": text}]}
