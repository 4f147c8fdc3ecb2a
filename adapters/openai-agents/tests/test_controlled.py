"""Tests of behaviour that is particular to the OpenAI Agents SDK."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from agents import TracingProcessor, set_trace_processors, set_tracing_disabled
from support.adapters import answered

from trialbed_adapter_lab import Harness
from trialbed_scripted import Response, ask, call

pytestmark = pytest.mark.framework("openai-agents:controlled")

ECHO = call("Echo_text", {"text": "one"})
LOCKED = {"error": {"message": "locked", "type": "invalid_request_error", "code": "conversation_locked", "param": None}}


@pytest.fixture
def traces() -> Iterator[list[Any]]:
    """The spans that are traced while tracing is on."""
    seen: list[Any] = []

    class Recorder(TracingProcessor):
        on_trace_start = on_span_start = lambda _, started: seen.append(started)
        on_trace_end = on_span_end = shutdown = force_flush = lambda *_: None

    set_trace_processors([Recorder()])
    set_tracing_disabled(False)
    yield seen
    set_tracing_disabled(True)
    set_trace_processors([])


@pytest.mark.parametrize("second", [{"text": "one"}, {"text": "two"}])
async def test_a_call_under_an_id_that_was_used_is_a_call_of_its_own(harness: Harness, second: dict[str, str]) -> None:
    turns = [ask(call("Echo_text", arguments, "same")) for arguments in ({"text": "one"}, second)]
    record = await harness.run(*turns, "done")
    assert [json.loads(claimed.response) for claimed in answered(record).calls] == [{"text": "one"}, second]
    assert [made for made, _ in record.requests[2].results] == ["same", "same"]


async def test_a_locked_conversation_is_not_tried_again(harness: Harness) -> None:
    record = await harness.run(Response.document(LOCKED, 400), "done")
    assert record.failure is not None
    assert record.failure.kind == "model"
    assert len(record.requests) == 1


async def test_nothing_is_traced_even_where_tracing_is_on(harness: Harness, traces: list[Any]) -> None:
    await harness.run(ECHO, "done")
    assert traces == []
