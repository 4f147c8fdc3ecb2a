"""Effects of ``CodeAgent``: the section "Tuned" of docs/reference/frameworks.md."""

from __future__ import annotations

import json
from typing import Any

import pytest
from support.adapters import answered, said

from trialbed_adapter_lab import Harness, tool
from trialbed_scripted import Response, call

pytestmark = pytest.mark.framework("smolagents:tuned")


def written(code: str) -> Response:
    """An answer with a block of code of the model's own."""
    message = {"role": "assistant", "content": f"Thought: I try.\n<code>\n{code}\n</code>"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    body = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    return Response.text(json.dumps(body))


async def test_the_first_request_offers_functions_in_its_prompt(harness: Harness) -> None:
    record = await harness.run("done", query="Why?", system_prompt="Be brief.", seed=7, temperature=0.5, max_tokens=9)
    body = record.requests[0].body
    assert {name: body[name] for name in body if name not in ("model", "messages")} == {
        "temperature": 0.5,
        "seed": 7,
        "max_tokens": 9,
        "stop": ["Observation:", "Calling tools:", "</code>"],
    }
    prompt = record.requests[0].messages[0]["content"][0]["text"]
    assert "def Echo_text(text: string) -> any:" in prompt
    assert "Be brief." in prompt


@pytest.mark.parametrize("wrong", [call("Echo_text", '{"text": '), call("Echo_text", "[1]"), call("no_such")])
async def test_code_that_fails_is_an_error_for_the_model(harness: Harness, wrong: Any) -> None:
    record = await harness.run(wrong, "done")
    assert (said(record), record.calls, answered(record).calls) == ("done", (), ())
    assert "Error:" in record.requests[1].results[0][1]


@pytest.mark.parametrize("arguments", [{}, {"text": 1}, {"text": "x", "more": 1}])
async def test_arguments_are_not_looked_at(harness: Harness, arguments: dict[str, Any]) -> None:
    record = await harness.run(call("Echo_text", arguments), "done")
    assert [made.arguments for made in record.calls] == [arguments]


async def test_a_call_may_give_its_arguments_by_place(harness: Harness) -> None:
    record = await harness.run(written("final_answer(Echo_text('one'))"), tools=[tool()])
    assert said(record) == '{"text": "one"}'
    assert [made.arguments for made in record.calls] == [{"text": "one"}]


@pytest.mark.parametrize("code", ["import os", "open('/etc/passwd')", "().__class__.__bases__"])
async def test_the_executor_refuses_the_obvious(harness: Harness, code: str) -> None:
    record = await harness.run(written(code), "done")
    assert said(record) == "done"
    assert "Error:\nCode execution failed" in record.requests[1].messages[-1]["content"][0]["text"]
