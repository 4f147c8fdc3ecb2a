"""Effects of ``LiteLlm`` and the plugin: the section "Tuned" of docs/reference/frameworks.md."""

from __future__ import annotations

import pytest
from support.adapters import results, said

from trialbed_adapter_lab import Harness
from trialbed_scripted import ask, call, fail, forever

pytestmark = pytest.mark.framework("google-adk:tuned")

ECHO = call("Echo_text", {"text": "one"})


async def test_the_first_request_has_the_settings_that_are_given(harness: Harness) -> None:
    record = await harness.run("done", seed=7, temperature=0.5, max_tokens=9)
    body = record.requests[0].body
    assert {name: body[name] for name in body if name not in ("model", "tools", "messages")} == {
        "temperature": 0.5,
        "seed": 7,
        "max_completion_tokens": 9,
    }


@pytest.mark.parametrize("arguments", ['{"text": ', "[1]"])
async def test_arguments_that_are_no_object_end_the_run_without_an_answer(harness: Harness, arguments: str) -> None:
    record = await harness.run(call("Echo_text", arguments), "done")
    assert (said(record), len(record.requests), record.calls) == ("", 1, ())


async def test_a_call_that_is_not_json_vanishes_beside_a_good_one(harness: Harness) -> None:
    record = await harness.run(ask(call("Echo_text", '{"text": '), ECHO), "done")
    assert (said(record), len(record.calls), len(results(record))) == ("done", 1, 1)


async def test_the_plugin_explains_an_unknown_tool_at_length(harness: Harness) -> None:
    record = await harness.run(call("no_such"), "done")
    assert said(record) == "done"
    assert "This is retry attempt **1 of 3**" in results(record)[0]


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize(("status", "requests"), [(500, 3), (429, 3), (403, 1)])
async def test_an_endpoint_that_always_fails(harness: Harness, status: int, requests: int) -> None:
    record = await harness.run(forever(fail(status)))
    assert (record.answer, len(record.requests)) == (None, requests)
