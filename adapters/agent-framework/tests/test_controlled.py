"""The Microsoft Agent Framework's own traps."""

from __future__ import annotations

import pytest
from support.adapters import answered

from trialbed_adapter_lab import Harness
from trialbed_scripted import Response, ask, call, forever, say

pytestmark = pytest.mark.framework("agent-framework:controlled")

ECHO = call("Echo_text", {"text": "one"})


async def test_a_request_has_the_trials_fields_alone(harness: Harness) -> None:
    record = await harness.run("done", max_tokens=9)
    assert set(record.requests[0].body) == {"model", "messages", "temperature", "seed", "max_tokens", "tools"}


async def test_a_model_that_calls_wrongly_again_and_again_is_told_so_each_time(harness: Harness) -> None:
    record = await harness.run(*[ask(call("Nobody", "{}"), call("Echo_text", "[1]"))] * 5, "done")
    assert (answered(record).final_answer, answered(record).calls, record.calls) == ("done", (), ())
    told = [text for _, text in record.requests[-1].results]
    assert told[1::2] == ["Error: the arguments are not a JSON object: [1]"] * 5
    assert all("Nobody" in text for text in told[::2])


@pytest.mark.parametrize("text", ['{"text": "\\ud83d"}', '{"text": ' + "[" * 5_000 + "]" * 5_000 + "}"])
async def test_arguments_that_cannot_be_sent_on_do_not_end_the_run(harness: Harness, text: str) -> None:
    record = await harness.run(call("Echo_text", text), "done")
    assert (answered(record).final_answer, answered(record).calls) == ("done", ())
    assert "not a JSON object" in record.requests[1].results[0][1]


async def test_texts_of_several_turns_are_not_strung_together(harness: Harness) -> None:
    record = await harness.run(ask(ECHO, text="First."), "Second.")
    assert answered(record).final_answer == "Second."


async def test_a_parameter_may_be_called_self(harness: Harness) -> None:
    record = await harness.run(call("Echo_text", {"self": "x"}), "done")
    assert [made.arguments for made in record.calls] == [{"self": "x"}]


@pytest.mark.parametrize(
    "end", [say(None, fields={"refusal": "I would rather not."}), say(None, finish_reason="length")]
)
async def test_an_end_without_a_text_is_no_answer_and_what_came_before_it_counts(
    harness: Harness, end: Response
) -> None:
    record = await harness.run(ECHO, end)
    assert (answered(record).final_answer, answered(record).finish, len(answered(record).calls)) == ("", None, 1)
    assert answered(record).model_turns == 2


async def test_the_limit_ends_the_run_with_what_was_done(harness: Harness) -> None:
    record = await harness.run(forever(ask(ECHO)), max_steps=60)
    assert (len(record.requests), len(answered(record).calls), answered(record).model_turns) == (60, 60, 60)
