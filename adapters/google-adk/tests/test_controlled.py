"""ADK's own traps."""

from __future__ import annotations

import pytest
from support.adapters import answered

from trialbed_adapter_lab import Harness, tool
from trialbed_scripted import ask, call, forever, say

pytestmark = pytest.mark.framework("google-adk:controlled")

ECHO = call("Echo_text", {"text": "one"})


async def test_a_request_has_the_trials_fields_and_words_alone(harness: Harness) -> None:
    record = await harness.run("done", system_prompt="Be {brief}.", max_tokens=9)
    assert set(record.requests[0].body) == {"model", "messages", "temperature", "seed", "max_tokens", "tools"}
    assert record.requests[0].said_by("system") == ["Be {brief}."]


@pytest.mark.parametrize("text", ['{"text": ', "[1]", '"{\\"text\\": \\"x\\"}"'])
async def test_arguments_that_are_no_object_are_an_error_and_no_call(harness: Harness, text: str) -> None:
    record = await harness.run(call("Echo_text", text), "done")
    assert (answered(record).final_answer, answered(record).calls, record.calls) == ("done", (), ())
    assert record.requests[1].results[0][1].startswith("Error: the arguments are not a JSON object")
    assert record.requests[1].tool_calls[0][2] == text


async def test_a_tool_may_be_called_as_one_of_adks_own(harness: Harness) -> None:
    turn = call("transfer_to_agent", {"agent_name": "x"})
    record = await harness.run(turn, "done", tools=[tool("transfer_to_agent")])
    assert [made.arguments for made in record.calls] == [{"agent_name": "x"}]


async def test_the_limit_ends_the_run_with_all_that_came_before(harness: Harness) -> None:
    record = await harness.run(forever(ask(ECHO)), max_steps=3)
    answer = answered(record)
    assert (answer.final_answer, answer.model_turns, len(answer.calls), len(record.requests)) == ("", 3, 3, 3)
    assert answer.usage is not None


async def test_a_refusal_is_no_answer(harness: Harness) -> None:
    record = await harness.run(ECHO, say(None, fields={"refusal": "I would rather not."}))
    assert (answered(record).final_answer, answered(record).finish, len(answered(record).calls)) == ("", None, 1)
