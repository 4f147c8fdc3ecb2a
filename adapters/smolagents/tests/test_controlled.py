"""The traps of smolagents."""

from __future__ import annotations

import pytest
from support.adapters import answered

from trialbed_adapter_lab import Harness, tool
from trialbed_scripted import ask, call

pytestmark = pytest.mark.framework("smolagents:controlled")

ECHO = call("Echo_text", {"text": "one"})


async def test_wrong_calls_cost_no_right_one_beside_them_its_result(harness: Harness) -> None:
    turn = ask(call("Nobody", "{}"), ECHO, call("Echo_text", "[1]"))
    record = await harness.run(turn, "done")
    assert [made.arguments for made in answered(record).calls] == [{"text": "one"}]
    assert [text for _, text in record.requests[1].results] == [
        "Error: there is no tool 'Nobody'",
        '{"text": "one"}',
        "Error: the arguments are not a JSON object: [1]",
    ]


async def test_a_tool_may_be_called_as_smolagents_own(harness: Harness) -> None:
    turn = call("final_answer", {"answer": "x"})
    record = await harness.run(turn, "done", tools=[tool("final_answer"), tool("a-tool")])
    assert [made.arguments for made in record.calls] == [{"answer": "x"}]
    assert answered(record).final_answer == "done"
