"""The harness in every dialect, and adapters whose models end by a tool."""

from __future__ import annotations

import json
from typing import Any

import pytest

from trialbed.contracts import BaseAgent
from trialbed.records import Usage
from trialbed.wire import usage_counts
from trialbed_adapter_lab import Harness
from trialbed_adapter_lab.errors import CheckFailed
from trialbed_adapter_lab.harness import tool
from trialbed_adapter_lab.probes.conditions import only_the_model_is_asked
from trialbed_adapter_lab.probes.faulty_answers import FAULTY_ANSWERS
from trialbed_plugins.frameworks.reference import MessagesReferenceAgent, ReferenceAgent, ResponsesReferenceAgent
from trialbed_scripted import ask, call, fail, say

OTHERS: list[type[BaseAgent]] = [MessagesReferenceAgent, ResponsesReferenceAgent]
ECHO = call("Echo_text", {"text": "hi"})


@pytest.mark.parametrize("agent", OTHERS)
async def test_a_trial_is_played_and_seen_in_its_dialect(agent: type[BaseAgent]) -> None:
    with Harness(agent) as harness:
        record = await harness.run(ask(ECHO, text="Let me see."), "done", max_tokens=50)
        assert harness.dialects == (agent.dialect,)
    assert record.answer is not None
    assert (record.answer.final_answer, record.answer.usage is not None, record.strays) == ("done", True, ())
    first, second = record.requests
    assert first.parameters("Echo_text") == tool().spec.parameters
    assert second.roles == ["system", "user", "assistant", "tool"]
    assert second.results == [("call_0_0", '{"text": "hi"}')]
    assert second.said_by("assistant") == ["Let me see."]


@pytest.mark.parametrize("agent", OTHERS)
async def test_what_is_no_answer_and_what_is_refused_has_the_form_of_the_dialect(agent: type[BaseAgent]) -> None:
    with Harness(agent) as harness:
        broken = await harness.run(FAULTY_ANSWERS["an answer without choices"])
        refused = await harness.run(lambda request: fail(429, spoken=request.spoken))
    assert broken.failure is not None
    assert refused.failure is not None
    assert (broken.failure.kind, refused.failure.kind) == ("model", "model")
    assert "the model refuses with 429" in refused.failure.message


async def test_a_response_may_follow_another() -> None:
    class Follows(ResponsesReferenceAgent):
        async def _ask_for_message(self, messages: Any) -> Any:
            return await super()._ask_for_message(messages[-1:] if len(messages) > 2 else messages)

        def _settings(self) -> dict[str, Any]:
            return {"previous_response_id": "resp_0"} if self._calls else {}

    with Harness(Follows) as harness:
        record = await harness.run(ECHO, "done")
    # The instructions of a response are not those of the next.
    assert record.requests[1].roles == ["user", "assistant", "tool"]
    assert len(record.requests[1].body["input"]) == 1


async def test_a_request_that_vendors_refuse_is_refused() -> None:
    class FollowsNothing(ResponsesReferenceAgent):
        def _settings(self) -> dict[str, Any]:
            return {"previous_response_id": "resp_9"}

    class ForgetsResults(MessagesReferenceAgent):
        async def _ask_for_message(self, messages: Any) -> Any:
            return await super()._ask_for_message([one for one in messages if one.role != "tool"])

    for agent, words in ((FollowsNothing, "'resp_9' not found"), (ForgetsResults, "without `tool_result` blocks")):
        with Harness(agent) as harness:
            record = await harness.run(ECHO, "done")
        assert record.failure is not None
        assert words in record.failure.message


async def test_another_dialect_than_the_declared_one_fails_the_check() -> None:
    class Mistaken(ReferenceAgent):
        dialect = "responses"

    with Harness(Mistaken) as harness, pytest.raises(CheckFailed, match="chat_completions"):
        await only_the_model_is_asked.run(harness)


class EndsByTool(ReferenceAgent):
    """Takes the call of a tool of its own, which has no usual name, for the answer."""

    finish_tool = "Submit_it"

    def _request(self, messages: Any) -> dict[str, Any]:
        properties = {"note": {"type": "string"}, "colour": {"enum": ["red"]}}
        schema = {"type": "object", "properties": properties, "required": ["note", "colour"]}
        function = {"name": self.finish_tool, "description": "Submits.", "parameters": schema}
        request = super()._request(messages)
        return {**request, "tools": [*request["tools"], {"type": "function", "function": function}]}

    def _message(self, response: Any) -> dict[str, Any]:
        said = super()._message(response)
        made = next((one for one in said.get("tool_calls", []) if one["function"]["name"] == self.finish_tool), None)
        return said if made is None else {"content": json.loads(made["function"]["arguments"])["note"]}


async def test_a_declared_finish_tool_is_called_to_end() -> None:
    with Harness(EndsByTool) as harness:
        record = await harness.run(ECHO, "done")
    assert record.answer is not None
    assert (record.answer.final_answer, len(record.requests), len(record.calls)) == ("done", 2, 1)


async def test_the_call_of_a_finish_tool_has_what_its_turn_has_beside_the_text() -> None:
    with Harness(EndsByTool) as harness:
        record = await harness.run(ask(ECHO), say("done", usage=usage_counts(100, 20)))
        cut = await harness.run(say("do", finish_reason="length"))
    assert record.answer is not None
    assert record.answer.usage == Usage(prompt_tokens=111, completion_tokens=23)
    assert cut.answer is not None
    assert cut.answer.final_answer == "do"
