"""What is particular to AutoGen."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest

from trialbed import Tool
from trialbed_adapter_kit import Held, Raw, Said, Stage, asks, call, forever, tool
from trialbed_autogen import AutoGenAgent

pytestmark = pytest.mark.framework("autogen")

ECHO = call("Echo_text", {"text": "one"})
OPEN = {"type": "object", "properties": {}}


async def test_the_request_has_none_of_autogens_additions(stage: Stage) -> None:
    play = await stage.play(asks(ECHO), "done")
    for request in play.requests:
        assert "tool_choice" not in request.body
        assert set(request.functions[0]) == {"name", "description", "parameters"}
        assert all("name" not in message for message in request.messages)


@pytest.mark.parametrize("text", ["null", "[]", "[1]", '""', '"text"', "0", "7", "false"])
async def test_arguments_that_are_no_object_are_no_call(stage: Stage, text: str) -> None:
    play = await stage.play(asks(call("Echo_text", text)), "done", tools=[tool(parameters=OPEN)])
    assert play.answer is not None
    assert (play.calls, play.answer.calls, play.answer.final_answer) == ((), (), "done")
    assert "not a JSON object" in play.requests[1].results[0][1]


@pytest.mark.parametrize("text", ['{"text": ' + "1" * 5_000 + "}", '{"text": ' + "[" * 5_000 + "]" * 5_000 + "}"])
async def test_arguments_that_python_cannot_hold_do_not_hang_the_run(stage: Stage, text: str) -> None:
    play = await stage.play(asks(call("Echo_text", text)), "done", patience=10)
    assert play.answer is not None, play.failure
    assert (play.answer.calls, play.answer.final_answer) == ((), "done")


async def test_the_results_are_no_answer_at_the_step_limit(stage: Stage) -> None:
    play = await stage.play(forever(asks(ECHO, text="hm")), max_steps=3)
    assert play.answer is not None
    assert (play.answer.final_answer, play.answer.finish, play.answer.model_turns) == ("", None, 3)
    assert len(play.answer.calls) == len(play.calls) == len(play.requests) == 3


async def test_results_belong_to_the_calls_even_under_one_id(stage: Stage) -> None:
    turn = asks(*(call("Echo_text", {"text": text}, id="same") for text in ("one", "two")))
    play = await stage.play(turn, turn, "done")
    assert play.answer is not None
    assert [claimed.arguments for claimed in play.answer.calls] == [{"text": "one"}, {"text": "two"}] * 2
    assert all(json.loads(claimed.response) == claimed.arguments for claimed in play.answer.calls)


@pytest.mark.parametrize("model", ["claude-3-5-haiku", "gemini-2.0-flash", "mistral-large", "deepseek-r1", "gpt-4o"])
@pytest.mark.filterwarnings("ignore:Resolved model mismatch")
async def test_the_models_name_changes_no_message(stage: Stage, model: str) -> None:
    script = (asks(ECHO), asks(ECHO, text="And again."), "<think>no</think> done")
    usual, named = [await stage.play(*script, model=name, query=" ") for name in ("stage-model", model)]
    assert [request.body["messages"] for request in named.requests] == [
        request.body["messages"] for request in usual.requests
    ]
    assert named.answer is not None
    assert named.answer.final_answer == "<think>no</think> done"


async def test_calls_under_another_finish_reason_raise_no_warning(stage: Stage) -> None:
    play = await stage.play(Said(None, calls=(ECHO,), reason="stop"), "done")
    assert play.answer is not None, play.failure
    assert len(play.calls) == 1


async def test_a_cancelled_run_leaves_no_call_behind(stage: Stage) -> None:
    held = Held()
    spec = stage.prepare(asks(ECHO, ECHO), "done", tools=[tool(behave=held.tool())]).spec
    agent = AutoGenAgent(spec.endpoint, spec.limits, system_prompt=spec.system_prompt)
    async with httpx.AsyncClient() as client:
        agent.bind_tools([Tool(item, spec.server_url, client) for item in spec.tools], server_url=spec.server_url)
        before = asyncio.all_tasks()
        running = asyncio.create_task(agent.answer(spec.query))
        assert await held.begun.wait(10)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        await agent.close()
        if left := asyncio.all_tasks() - before:
            await asyncio.wait(left, timeout=2)
        assert asyncio.all_tasks() == before


@pytest.mark.parametrize("body", ["", "<html>", "[]", "{}", '{"choices": []}', '{"choices": [{"message": null}]}'])
async def test_what_is_no_completion_is_the_models_failure(stage: Stage, body: str) -> None:
    play = await stage.play(Raw(body=body), "done")
    assert play.failure is not None
    assert play.failure.kind == "model"


def test_the_version_is_agentchats() -> None:
    assert AutoGenAgent.framework_version().startswith("0.")
