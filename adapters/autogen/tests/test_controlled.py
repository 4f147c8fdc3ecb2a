"""Tests of behaviour that is particular to AutoGen."""

from __future__ import annotations

import asyncio
import json

import pytest
from support.adapters import answered

from trialbed import Tool
from trialbed_adapter_lab import Harness, Latch, tool
from trialbed_autogen.controlled import ControlledAgent
from trialbed_scripted import ask, call

pytestmark = pytest.mark.framework("autogen:controlled")

ECHO = call("Echo_text", {"text": "one"})


async def test_results_belong_to_the_calls_even_under_one_id(harness: Harness) -> None:
    turn = ask(*(call("Echo_text", {"text": text}, "same") for text in ("one", "two")))
    record = await harness.run(turn, turn, "done")
    assert [claimed.arguments for claimed in answered(record).calls] == [{"text": "one"}, {"text": "two"}] * 2
    assert all(json.loads(claimed.response) == claimed.arguments for claimed in answered(record).calls)


@pytest.mark.parametrize("model", ["claude-3-5-haiku", "gemini-2.0-flash", "mistral-large", "deepseek-r1", "gpt-4o"])
@pytest.mark.filterwarnings("ignore:Resolved model mismatch")
async def test_the_models_name_changes_no_message(harness: Harness, model: str) -> None:
    script = (ask(ECHO), ask(ECHO, text="And again."), "<think>no</think> done")
    usual, named = [await harness.run(*script, model=name, query=" ") for name in ("harness-model", model)]
    assert [request.body["messages"] for request in named.requests] == [
        request.body["messages"] for request in usual.requests
    ]
    assert named.answer is not None
    assert named.answer.final_answer == "<think>no</think> done"


async def test_a_cancelled_run_leaves_no_call_behind(harness: Harness) -> None:
    latch = Latch()
    spec = harness.prepare(ask(ECHO, ECHO), "done", tools=[tool(behave=latch.tool())]).spec
    agent = ControlledAgent(spec.endpoint, spec.limits, system_prompt=spec.system_prompt)
    agent.bind_tools([Tool(item, spec.server_url) for item in spec.tools], server_url=spec.server_url)
    before = asyncio.all_tasks()
    running = asyncio.create_task(agent.answer(spec.query))
    assert await latch.reached.wait(60)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await agent.close()
    if left := asyncio.all_tasks() - before:
        await asyncio.wait(left, timeout=60)
    assert asyncio.all_tasks() == before
