"""The oracle, on trials of a harness and on records of trials."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import httpx
import pytest
from support.trial_records import QUERY, TOOLS, api_call, definition, observed, request

from trialbed.records import Answer, Usage
from trialbed_adapter_lab import Harness, ObservedCall
from trialbed_adapter_lab.harness import INVARIANTS
from trialbed_plugins.frameworks.reference import ReferenceAgent
from trialbed_scripted import ask, call, say

BREACHES = {name: invariant.breaches for name, invariant in INVARIANTS.items()}
OFFERED = [definition(tool) for tool in TOOLS]
SYSTEM = {"role": "system", "content": "Do it."}
USER = {"role": "user", "content": QUERY}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "17"}


def test_what_an_answer_claims_is_held_against_the_requests() -> None:
    asked = request(SYSTEM, USER, usage=Usage(prompt_tokens=3, completion_tokens=1))
    claimed = Answer(final_answer="done", finish="give_answer", usage=Usage(prompt_tokens=4, completion_tokens=1))
    (words,) = BREACHES["usage_is_right_everywhere"](observed(asked, answer=claimed))
    assert words == "4 prompt_tokens are claimed, and 3 were reported"
    assert not [*BREACHES["claims_are_right_everywhere"](observed(asked))]


def test_what_the_model_said_is_held_against_the_conversation_and_the_calls() -> None:
    tool, arguments = TOOLS[0], '{"day": "Wed"}'
    turn = {"id": "c0", "function": {"name": tool.name, "arguments": arguments}}
    own, result = {"role": "assistant", "tool_calls": [turn]}, {**RESULT, "tool_call_id": "c0"}
    right, wrong = api_call(tool, {"day": "Wed"}, "17"), api_call(tool, {"day": "Thu"}, "18")

    def breaches(*messages: Any, made: ObservedCall = right, answer: str = "done") -> list[str]:
        asked = request(SYSTEM, USER, tools=OFFERED, said=ask(call(tool.name, arguments, "c0")))
        again = request(SYSTEM, USER, *messages, tools=OFFERED, started=1.0, said=say("done"))
        claimed = Answer(final_answer=answer, finish="give_answer")
        seen = observed(asked, again, calls=[made], answer=claimed)
        looked_at = (
            "turns_are_added_as_they_were",
            "results_go_back_whole",
            "calls_are_the_models",
            "answers_are_the_last_text",
        )
        return [invariant for invariant in looked_at if next(BREACHES[invariant](seen), "")]

    assert breaches(own, result) == []
    assert breaches(own, result, {**USER, "content": "Go on."}) == ["turns_are_added_as_they_were"]
    assert breaches(own, {**result, "content": "1 7"}) == ["results_go_back_whole"]
    assert breaches(own, {**result, "content": "18"}, made=wrong) == ["calls_are_the_models"]
    assert breaches(own, result, answer="done, done") == ["answers_are_the_last_text"]


async def test_every_trial_of_a_harness_is_looked_at() -> None:
    class Asks(ReferenceAgent):
        async def answer(self, query: str) -> Any:
            async with httpx.AsyncClient() as client:
                await client.get(f"{self.endpoint.base_url}/models")
            return await super().answer(query)

    turn = ask(call("Echo_text", {"text": "x"}), call("Echo_nobody"))
    for agent, expected in ((ReferenceAgent, ()), (Asks, ("in a trial of this test, GET /v1/models was sent",))):
        with Harness(agent) as harness:
            await harness.run(turn, "done")
            assert harness.oracle.breaches("nothing_else_is_asked") == expected
            assert not harness.oracle.breaches("conversation_only_grows")


@pytest.mark.parametrize(("printed", "claims"), [({}, False), ({"calls": ()}, True)])
def test_a_program_claims_that_it_made_no_calls_if_it_prints_a_list_of_none(printed: Any, claims: bool) -> None:
    answer = Answer(final_answer="done", finish="give_answer", **printed)
    record = replace(observed(request(SYSTEM, USER), answer=answer), is_program=True)
    assert record.makes_claims is claims
