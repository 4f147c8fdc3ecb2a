"""Tests of behaviour that is particular to CrewAI."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from support.adapters import answered, refusal

from trialbed_adapter_lab import Barrier, Harness, Latch, tool
from trialbed_scripted import Response, ask, call

pytestmark = pytest.mark.framework("crewai:controlled")

ECHO = call("Echo_text", {"text": "one"})


@pytest.mark.parametrize("text", ["{input} {tools} {tool_names}", "{role}{goal}{backstory}", "{{ .System }}", "", "%s"])
async def test_placeholders_of_crewais_prompts_are_plain_text(harness: Harness, text: str) -> None:
    record = await harness.run("done", query=text, system_prompt=text)
    assert [entry["content"] for entry in record.requests[0].messages] == [text, text]


@pytest.mark.parametrize("name", ["getHTTPResponse", "a-b", "_x_", "---", "A" * 64, "two__lines", "9"])
async def test_a_name_that_crewai_would_change_is_kept_and_found_again(harness: Harness, name: str) -> None:
    record = await harness.run(call(name, {"text": "x"}), "done", tools=(tool(name),))
    assert [entry["name"] for entry in record.requests[0].functions] == [name]
    assert record.requests[1].messages[2]["tool_calls"][0]["function"]["name"] == name
    assert [claimed.name for claimed in answered(record).calls] == [made.tool for made in record.calls] == [name]


@pytest.mark.parametrize("name", ["echo_text", "echoText", "ECHO-TEXT", "Echo__text", "no such tool", "工具"])
async def test_a_name_that_is_only_like_a_tools_is_unknown(harness: Harness, name: str) -> None:
    record = await harness.run(call(name, {"text": "x"}), "done")
    assert (record.calls, answered(record).calls, answered(record).final_answer) == ((), (), "done")
    assert record.requests[1].messages[2]["tool_calls"][0]["function"]["name"] == name
    assert record.requests[1].results == [("call_0_0", f"Error: there is no tool {name!r}")]


@pytest.mark.parametrize(
    "refusal",
    [
        refusal(429, "Rate limit reached, too many requests", "rate_limit_exceeded"),
        refusal(400, "This model's maximum context length is 10 tokens", "context_length_exceeded"),
        refusal(400, "tools are not supported by this model; does not support function calling"),
        refusal(400, "Function tools with reasoning_effort are not supported, reasoning_effort must be none"),
        refusal(404, "This model is only supported in v1/responses and not in v1/chat/completions", "model_not_found"),
        Response.document({"error": {"message": "rate limit", "code": 429}}),
    ],
    ids=["rate limit", "context", "no tools", "reasoning", "responses only", "error in a 200"],
)
async def test_no_error_makes_crewai_ask_again(harness: Harness, refusal: Response) -> None:
    record = await harness.run(ECHO, refusal, "done")
    assert len(record.requests) == 2
    assert record.failure is not None
    assert record.failure.kind == "model"


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
async def test_an_answer_is_not_taken_apart(harness: Harness, tools: tuple[()], text: str) -> None:
    record = await harness.run(text, tools=tools)
    assert answered(record).final_answer == text
    assert len(record.requests) == 1
    assert ("tools" in record.requests[0].body) is bool(tools)


@pytest.mark.parametrize(("calls", "met"), [(8, True), (9, False)])
async def test_eight_calls_are_made_at_the_same_time_and_not_nine(harness: Harness, calls: int, met: bool) -> None:
    # Only a barrier that is not met takes this long.
    barrier = Barrier(calls, timeout=60.0 if met else 1.0)
    turn = ask(*[call("Echo_text", {"text": str(number)}) for number in range(calls)])
    record = await harness.run(turn, "done", tools=(tool(behave=barrier.tool()),))
    assert (len(record.calls), barrier.all_arrived) == (calls, met)


@pytest.mark.parametrize("where", ["tool", "model"])
async def test_no_thread_of_a_cancelled_trial_is_left(harness: Harness, where: str) -> None:
    latch = Latch()
    script = [ask(ECHO), "done"] if where == "tool" else [latch.reply(ask(ECHO))]
    behave = latch.tool() if where == "tool" else tool().behave
    trial = asyncio.create_task(harness.run(*script, tools=(tool(behave=behave),)))
    assert await latch.reached.wait(60)
    trial.cancel()
    await asyncio.wait([trial])
    latch.open()
    assert [thread.name for thread in threading.enumerate() if "trialbed-crewai" in thread.name] == []


def test_crewai_neither_reports_home_nor_leaves_folders_there(tmp_path: Path) -> None:
    work = tmp_path / "some-project"
    work.mkdir()
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CREWAI_", "OTEL_"))}
    subprocess.run([sys.executable, "-c", SILENT], cwd=work, env={**kept, "HOME": str(tmp_path)}, check=True)
    assert [path for path in tmp_path.rglob("*some-project*") if path != work] == []


SILENT = """
import signal
from importlib import import_module

for profile in ("native", "controlled"):
    import_module(f"trialbed_crewai.{profile}")
    from crewai.events.listeners.tracing import utils
    from crewai.telemetry.telemetry import Telemetry

    assert not Telemetry().ready
    assert not utils.should_enable_tracing()
    assert not utils.should_auto_collect_first_time_traces()
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
"""
"""Imports both profiles as workers do, and looks after each."""
