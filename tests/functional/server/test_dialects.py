"""A dialect that is one more module: the gateway serves it, scripted models answer in it, and the log reads it."""

from __future__ import annotations

import sys

import pytest
from support import plain_dialect
from support.servers import TRIAL, Serve, closed, registration

from trialbed.records import WireLog
from trialbed.wire import recorded_answer, recorded_request
from trialbed.wire.dialects import PATHS


@pytest.fixture
def plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PATHS, plain_dialect.PATH, plain_dialect.NAME)
    monkeypatch.setitem(sys.modules, f"trialbed.wire.dialects.{plain_dialect.NAME}", plain_dialect)
    return


@pytest.mark.parametrize("stream", [False, True])
async def test_a_dialect_of_one_module_is_served_and_recorded(serve: Serve, plain: None, stream: bool) -> None:
    client = await serve()
    await client.post("/control/trials", json=registration())
    tool = registration()["tools"][0]["name"]
    asked = {"model": "scripted:gold", "said": [["user", "Oslo?"]], "may_call": [tool], "stream": stream}
    answer = (await client.post(f"/t/{TRIAL}/v1/plain", json=asked)).json()
    assert answer["call"][0] == tool
    refused = await client.post(f"/t/{TRIAL}/v1/plain", json={})
    assert (refused.status_code, refused.json()) == (400, {"problem": "nothing is said"})
    log = WireLog.model_validate(await closed(client))
    call = log.model_calls[0]
    assert (call.dialect, call.finish_reason, call.tool_calls[0].name) == ("plain_dialect", "tool_calls", tool)
    assert call.usage is not None
    assert call.usage.total_tokens == answer["used"]["total_tokens"]
    request = recorded_request(call)
    assert request is not None
    assert request.messages[0].text == "Oslo?"
    assert recorded_answer(call).answer.calls[0].name == tool
