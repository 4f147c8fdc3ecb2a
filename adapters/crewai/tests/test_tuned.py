"""Effects of the flow, the crew and the window: the section "Tuned" of docs/reference/frameworks.md."""

from __future__ import annotations

from typing import Any

import pytest
from support.adapters import answered, results, said

from trialbed_adapter_lab import Harness, returns, tool
from trialbed_scripted import call, fail, forever, say

pytestmark = [pytest.mark.framework("crewai:tuned"), pytest.mark.usefixtures("no_waiting")]

LARGE = "word " * 2_000


async def test_a_large_result_goes_back_whole(harness: Harness) -> None:
    record = await harness.run(call("Echo_text", {"text": "a"}), "done", tools=[tool(behave=returns(LARGE))])
    assert (said(record), results(record)) == ("done", [LARGE])
    assert [function["name"] for function in record.requests[-1].functions] == ["echo_text"]


@pytest.mark.parametrize("first", [call("Echo_text", "[1]"), say("")])
async def test_a_run_that_fails_begins_again(harness: Harness, first: Any) -> None:
    record = await harness.run(first, "done")
    assert (said(record), len(record.requests)) == ("done", 2)
    assert record.requests[1].roles == record.requests[0].roles


async def test_an_endpoint_that_always_fails_is_asked_by_each_run_of_the_crew(harness: Harness) -> None:
    record = await harness.run(forever(fail(500)))
    assert (said(record), len(record.requests)) == ("InternalServerError", 9)


async def test_arguments_have_the_types_of_the_schema(harness: Harness) -> None:
    properties = {
        "place": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        "kinds": {"type": "array", "items": {"enum": ["warm", "cold"]}},
        "days": {"type": "integer", "description": "How many."},
        "free": {},
    }
    parameters = {"type": "object", "properties": properties, "required": ["place", "kinds"]}
    arguments = {"place": {"city": "Oslo"}, "kinds": ["warm"]}
    record = await harness.run(call("Echo_text", {**arguments, "days": 2}), "done", tools=[tool(parameters=parameters)])
    assert [made.arguments for made in record.calls] == [{**arguments, "days": 2}]
    assert [made.arguments for made in answered(record).calls] == [{**arguments, "days": 2}]
    offered = record.requests[0].functions[0]["parameters"]["properties"]
    assert offered["place"]["properties"]["city"]["type"] == "string"
    assert offered["days"]["description"] == "How many."
