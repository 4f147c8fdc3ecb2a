"""Effects of the middleware: the section "Tuned" of docs/reference/frameworks.md."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

import pytest
from packaging.version import Version
from support.adapters import results, said

from trialbed_adapter_lab import Harness, tool
from trialbed_langgraph.tuned import OLDEST
from trialbed_scripted import call, fail, forever

pytestmark = [
    pytest.mark.framework("langgraph:tuned"),
    pytest.mark.slow(15),
    pytest.mark.skipif(Version(version("langchain")) < Version(OLDEST), reason="the middleware is newer"),
]


@pytest.fixture(autouse=True)
def no_pause(no_waiting: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("langchain.agents.middleware.model_retry.calculate_delay", lambda *_, **__: 0.0)
    monkeypatch.setattr("langchain.agents.middleware.tool_retry.calculate_delay", lambda *_, **__: 0.0)


@pytest.mark.parametrize(("arguments", "end", "requests"), [('{"text": ', "", 1), ("[1]", "done", 2)])
async def test_arguments_that_are_not_json_still_end_the_run_and_a_list_is_asked_again(
    harness: Harness, arguments: str, end: str, requests: int
) -> None:
    record = await harness.run(call("Echo_text", arguments), "done")
    assert (said(record), len(record.requests), record.calls) == (end, requests, ())


async def test_an_exception_of_a_tool_is_an_error_for_the_model(harness: Harness) -> None:
    parameters = {"type": "object", "properties": {"self": {"type": "string"}}}
    record = await harness.run(call("Echo_text", {"self": "a"}), "done", tools=[tool(parameters=parameters)])
    assert said(record) == "done"
    assert results(record) == ["`Echo_text` failed with TypeError; fix the input and retry."]


@pytest.mark.parametrize(("status", "requests"), [(500, 9), (429, 9), (403, 1)])
async def test_requests_of_an_endpoint_that_always_fails(harness: Harness, status: int, requests: int) -> None:
    record: Any = await harness.run(forever(fail(status)))
    assert (record.answer, len(record.requests)) == (None, requests)
