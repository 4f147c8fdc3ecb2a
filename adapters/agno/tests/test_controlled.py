"""Agno's own traps."""

from __future__ import annotations

import subprocess
import sys

import pytest
from agno.exceptions import ModelProviderError

from trialbed_adapter_lab import tool
from trialbed_scripted import Response, call

pytestmark = pytest.mark.framework("agno:controlled")

OBJECT = {"type": "object"}


async def test_words_in_braces_are_not_looked_up_in_agnos_session(harness):
    words = "{session_id} {run_id} {user_id} {current_session_id} {current_run_id} {session_state} {nothing}"
    record = await harness.run("done", query=words, system_prompt=words)
    assert [message["content"] for message in record.requests[0].messages] == [words, words]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("get_user_input", {"user_input_fields": [{"field_name": "a"}]}),
        ("ask_user", {"questions": [{"question": "?"}]}),
    ],
)
async def test_tools_with_names_that_agno_uses_itself_do_not_pause_the_run(harness, name, arguments):
    record = await harness.run(call(name, arguments), "done", tools=[tool(name, parameters=OBJECT)])
    assert [made.arguments for made in record.calls] == [arguments]
    assert record.answer.final_answer == "done"


@pytest.mark.parametrize("code", ["context_length_exceeded", "rate_limit_exceeded", None])
async def test_an_endpoints_refusal_is_no_answer(harness, code):
    error = {"message": "maximum context length exceeded", "code": code}
    refusal = Response.document({"error": error}, 400)
    record = await harness.run(refusal, "an answer that is never asked for")
    assert record.failure.kind == "model"
    assert "400" in record.failure.message
    assert "maximum context length exceeded" in record.failure.message
    assert len(record.requests) == 1


async def test_an_error_that_agno_raises_itself_is_told(harness, monkeypatch):
    async def fail(*_, **__):
        raise ModelProviderError("Agno cannot read the answer")

    monkeypatch.setattr("agno.agent.Agent.arun", fail)
    record = await harness.run("an answer that is never asked for")
    assert (record.answer, record.failure.kind) == (None, "agent")
    assert "Agno cannot read the answer" in record.failure.message


TROUBLE = """
import asyncio
from trialbed_adapter_lab import Harness
from trialbed_scripted import Response, ask, call
from trialbed_agno.controlled import ControlledAgent

async def main():
    with Harness(ControlledAgent) as harness:
        await harness.run(ask(call("Nobody", "{}"), call("Echo_text", "[")), "done")
        await harness.run(Response.text("{}", status=500))

asyncio.run(main())
"""


def test_agno_writes_nothing_to_the_console():
    # In a process of its own: Agno's log holds on to the streams that there were when it was imported.
    done = subprocess.run([sys.executable, "-c", TROUBLE], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")
