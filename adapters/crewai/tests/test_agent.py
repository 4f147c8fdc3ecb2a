"""What is particular to CrewAI."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from trialbed.records import Answer
from trialbed_adapter_kit import Call, Held, Meeting, Play, Raw, Said, Stage, asks, call, forever, tool

pytestmark = pytest.mark.framework("crewai")

ECHO = call("Echo_text", {"text": "one"})
COMPLETION = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}


def answered(play: Play) -> Answer:
    assert play.answer is not None, play.failure
    return play.answer


def refused(status: int, message: str, code: str | None = None) -> Raw:
    error = {"message": message, "type": "invalid_request_error", "code": code, "param": None}
    return Raw(status, json.dumps({"error": error}))


async def test_the_request_is_all_of_it_the_rigs(stage: Stage) -> None:
    play = await stage.play("done", query="Why?", system_prompt="Be brief.", max_tokens=9)
    definition = {"type": "function", "function": play.requests[0].functions[0]}
    assert play.requests[0].body == {
        "model": "stage-model",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Why?"}],
        "temperature": 0.0,
        "seed": 0,
        "max_tokens": 9,
        "tools": [definition],
    }
    assert set(definition["function"]) == {"name", "description", "parameters"}


@pytest.mark.parametrize("text", ["{input} {tools} {tool_names}", "{role}{goal}{backstory}", "{{ .System }}", "", "%s"])
async def test_placeholders_of_crewais_prompts_are_plain_text(stage: Stage, text: str) -> None:
    play = await stage.play("done", query=text, system_prompt=text)
    assert [entry["content"] for entry in play.requests[0].messages] == [text, text]


@pytest.mark.parametrize("name", ["getHTTPResponse", "a-b", "_x_", "---", "A" * 64, "two__lines", "9"])
async def test_a_name_that_crewai_would_change_is_kept_and_found_again(stage: Stage, name: str) -> None:
    play = await stage.play(asks(call(name, {"text": "x"})), "done", tools=(tool(name),))
    assert [entry["name"] for entry in play.requests[0].functions] == [name]
    assert play.requests[1].messages[2]["tool_calls"][0]["function"]["name"] == name
    assert [claimed.name for claimed in answered(play).calls] == [made.tool for made in play.calls] == [name]


async def test_names_that_crewai_would_make_one_stay_apart(stage: Stage) -> None:
    names = ["Get-Text", "Get_Text", "getText", "get_text", "get_text_2"]
    turn = asks(*[call(name, {"text": name}) for name in names])
    play = await stage.play(turn, "done", tools=[tool(name) for name in names])
    assert {made.tool: made.arguments["text"] for made in play.calls} == {name: name for name in names}
    assert {claimed.name: claimed.arguments for claimed in answered(play).calls} == {n: {"text": n} for n in names}


@pytest.mark.parametrize("name", ["echo_text", "echoText", "ECHO-TEXT", "Echo__text", "no such tool", "工具"])
async def test_a_name_that_is_only_like_a_tools_is_unknown(stage: Stage, name: str) -> None:
    play = await stage.play(asks(call(name, {"text": "x"})), "done")
    assert (play.calls, answered(play).calls, answered(play).final_answer) == ((), (), "done")
    assert play.requests[1].messages[2]["tool_calls"][0]["function"]["name"] == name
    assert play.requests[1].results == [("call_0_0", "Tool not found")]


@pytest.mark.parametrize("text", ["[1]", '"one"', "7", "null", "true", "[" * 9000 + "]" * 9000, '{"text": '])
async def test_arguments_that_crewai_would_fail_at_or_guess_go_back_to_the_model(stage: Stage, text: str) -> None:
    play = await stage.play(asks(call("Echo_text", text)), "done")
    assert (play.calls, answered(play).calls, answered(play).final_answer) == ((), (), "done")
    assert play.requests[1].messages[2]["tool_calls"][0]["function"]["arguments"] == text
    ((_, told),) = play.requests[1].results
    assert "Failed to parse tool arguments" in told


async def test_deep_arguments_do_not_end_the_run(stage: Stage) -> None:
    text = '{"text": ' + "[" * 9000 + "]" * 9000 + "}"
    play = await stage.play(asks(call("Echo_text", text)), "done")
    assert (answered(play).final_answer, answered(play).calls) == ("done", ())


@pytest.mark.parametrize("max_steps", [1, 2, 30])
async def test_a_model_that_repeats_itself_is_stopped_by_the_step_limit_only(stage: Stage, max_steps: int) -> None:
    play = await stage.play(forever(asks(ECHO, text="Once more.")), max_steps=max_steps)
    answer = answered(play)
    assert len(play.requests) == len(play.calls) == len(answer.calls) == answer.model_turns == max_steps
    assert (answer.final_answer, answer.finish) == ("", None)
    assert {claimed.response for claimed in answer.calls} == {'{"text": "one"}'}
    assert all(request.functions for request in play.requests)
    assert {told for _, told in play.requests[-1].results} <= {'{"text": "one"}'}


@pytest.mark.parametrize("wanted", [call("Later"), call("Echo_text", "[1]"), call("Echo_text", "{")])
async def test_a_model_that_repeats_a_wrong_call_is_stopped_by_the_step_limit_only(stage: Stage, wanted: Call) -> None:
    play = await stage.play(forever(asks(wanted, wanted)), max_steps=8)
    answer = answered(play)
    assert len(play.requests) == answer.model_turns == 8
    assert (answer.final_answer, answer.finish, answer.calls, play.calls) == ("", None, (), ())


@pytest.mark.parametrize(
    "refusal",
    [
        refused(429, "Rate limit reached, too many requests", "rate_limit_exceeded"),
        refused(400, "This model's maximum context length is 10 tokens", "context_length_exceeded"),
        refused(400, "tools are not supported by this model; does not support function calling"),
        refused(400, "Function tools with reasoning_effort are not supported, reasoning_effort must be none"),
        refused(404, "This model is only supported in v1/responses and not in v1/chat/completions", "model_not_found"),
        Raw(200, json.dumps({"error": {"message": "rate limit", "code": 429}})),
    ],
    ids=["rate limit", "context", "no tools", "reasoning", "responses only", "error in a 200"],
)
async def test_no_error_makes_crewai_ask_again(stage: Stage, refusal: Raw) -> None:
    play = await stage.play(asks(ECHO), refusal, "done")
    assert len(play.requests) == 2
    assert play.failure is not None
    assert play.failure.kind == "model"
    assert play.wall < 5


@pytest.mark.parametrize("body", ["", "<html>", "[]", "{}", '{"choices": []}', '{"choices": [{"message": null}]}'])
async def test_what_is_no_completion_is_the_models_failure(stage: Stage, body: str) -> None:
    play = await stage.play(Raw(body=body), "done")
    assert play.failure is not None
    assert play.failure.kind == "model"
    assert len(play.requests) == 1


@pytest.mark.parametrize("tools", [(), (tool(),)], ids=["without tools", "with tools"])
@pytest.mark.parametrize(
    "text",
    [
        "42\nObservation: so it is",
        "Thought: hm\nFinal Answer: no",
        'Thought: hm\nAction: Echo_text\nAction Input: {"text": "x"}',
        "Action: nothing",
        '{"text": "x"}',
        "  spaced  ",
    ],
)
async def test_an_answer_is_not_taken_apart(stage: Stage, tools: tuple[()], text: str) -> None:
    play = await stage.play(text, tools=tools)
    assert answered(play).final_answer == text
    assert len(play.requests) == 1
    assert ("tools" in play.requests[0].body) is bool(tools)


async def test_a_call_of_an_agent_without_tools_goes_back_to_the_model(stage: Stage) -> None:
    play = await stage.play(asks(call("no_tool")), "done", tools=())
    assert (answered(play).final_answer, answered(play).calls) == ("done", ())
    assert play.requests[1].results == [("call_0_0", "Tool not found")]


@pytest.mark.parametrize("model", ["o1-mini", "solo1", "gpt-5.5", "openai/gpt-4o", "anthropic/claude"])
async def test_a_models_name_changes_nothing_but_the_name(stage: Stage, model: str) -> None:
    play = await stage.play(asks(ECHO), "done", model=model)
    plain = await stage.play(asks(ECHO), "done")
    assert [request.body for request in play.requests] == [{**seen.body, "model": model} for seen in plain.requests]


async def test_a_refusal_is_no_answer_and_what_came_before_it_counts(stage: Stage) -> None:
    play = await stage.play(asks(ECHO), Said(None, extras={"refusal": "I would rather not."}))
    answer = answered(play)
    assert (answer.final_answer, answer.finish, len(answer.calls), answer.model_turns) == ("", None, 1, 2)


async def test_calls_without_ids_do_not_end_the_run(stage: Stage) -> None:
    wanted = {"type": "function", "function": {"name": "Echo_text", "arguments": '{"text": "x"}'}}
    choice = {"index": 0, "message": {"role": "assistant", "content": None, "tool_calls": [wanted]}}
    play = await stage.play(Raw(body=json.dumps({**COMPLETION, "choices": [choice]})), "done")
    assert answered(play).final_answer == "done"
    assert [made.arguments for made in play.calls] == [{"text": "x"}]


@pytest.mark.parametrize(("calls", "met"), [(8, True), (9, False)])
async def test_eight_calls_are_made_at_the_same_time_and_not_nine(stage: Stage, calls: int, met: bool) -> None:
    meeting = Meeting(calls, patience=1.0)
    turn = asks(*[call("Echo_text", {"text": str(number)}) for number in range(calls)])
    play = await stage.play(turn, "done", tools=(tool(behave=meeting.tool()),))
    assert (len(play.calls), meeting.met) == (calls, met)


@pytest.mark.parametrize("where", ["tool", "model"])
async def test_no_thread_of_a_cancelled_trial_is_left(stage: Stage, where: str) -> None:
    held = Held()
    script = [asks(ECHO), "done"] if where == "tool" else [held.line(asks(ECHO))]
    behave = held.tool() if where == "tool" else tool().behave
    trial = asyncio.create_task(stage.play(*script, tools=(tool(behave=behave),)))
    assert await held.begun.wait(10)
    trial.cancel()
    await asyncio.wait([trial])
    held.released.give()
    assert [thread.name for thread in threading.enumerate() if "trialbed-crewai" in thread.name] == []


async def test_trials_in_one_loop_do_not_wait_for_each_other(stage: Stage) -> None:
    many = 2 * min(32, (os.cpu_count() or 1) + 4)
    meeting = Meeting(many, patience=10.0)
    tools = (tool(behave=meeting.tool()),)
    plays = await asyncio.gather(*[stage.play(asks(ECHO), str(number), tools=tools) for number in range(many)])
    assert meeting.met
    assert [answered(play).final_answer for play in plays] == [str(number) for number in range(many)]


def test_crewai_neither_reports_home_nor_leaves_folders_there(tmp_path: Path) -> None:
    code = (
        "import signal, trialbed_crewai\n"
        "from crewai.events.listeners.tracing import utils\n"
        "from crewai.telemetry.telemetry import Telemetry\n"
        "assert not Telemetry().ready\n"
        "assert not utils.should_enable_tracing()\n"
        "assert not utils.should_auto_collect_first_time_traces()\n"
        "assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL\n"
    )
    work = tmp_path / "some-project"
    work.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CREWAI_", "OTEL_"))}
    subprocess.run([sys.executable, "-c", code], cwd=work, env={**kept, "HOME": str(tmp_path)}, check=True)
    assert [path for path in tmp_path.rglob("*some-project*") if path != work] == []
