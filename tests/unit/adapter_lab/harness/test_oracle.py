"""The oracle, on trials of a harness and on those of a server's log."""

from __future__ import annotations

from typing import Any

from support.fidelity import definition, model_call, observed, request

from trialbed.records import Usage
from trialbed_adapter_lab import Harness
from trialbed_adapter_lab.harness import (
    Invariant,
    Oracle,
    answers_calls,
    asks_nothing_else,
    claims_its_calls,
    claims_its_usage,
    keeps_prompt,
    keeps_settings,
    keeps_tools,
    only_grows,
    stations,
)
from trialbed_plugins.frameworks.reference import ReferenceAgent
from trialbed_scripted import ask, call

SCENARIO = stations(4, 2)
TOOLS = [definition(tool) for tool in SCENARIO.tools]
SYSTEM = {"role": "system", "content": "Do it."}
USER = {"role": "user", "content": SCENARIO.query}
SAID = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "17"}
SETTINGS = {"temperature": 0.0, "seed": 0}


def breach(invariant: Invariant, *messages: Any, **changed: Any) -> str:
    """The breach of a trial whose second request has these messages and fields."""
    first = request(SYSTEM, USER, **{"tools": TOOLS, **SETTINGS})
    second = request(*messages, **{"tools": TOOLS, **SETTINGS, **changed})
    return next(invariant(observed(model_call(first), model_call(second))), "")


def test_each_invariant_of_requests_names_the_request_that_breaks_it() -> None:
    right = (SYSTEM, USER, SAID, RESULT)
    for invariant in (keeps_prompt, keeps_tools, keeps_settings, only_grows, answers_calls):
        assert breach(invariant, *right) == ""
    wrong = {
        breach(
            keeps_prompt, *right[1:]
        ): 'request 2 of 2 has no system message with the trial\'s text: [], not "Do it."',
        breach(keeps_tools, *right, tools=TOOLS[1:]): f'request 2 of 2 does not offer ["{SCENARIO.tools[0].name}"]',
        breach(keeps_settings, *right, seed=7): "request 2 of 2 has the seed 7, not 0",
        breach(answers_calls, SYSTEM, USER, RESULT): 'request 2 of 2 has a result of the call "c", which no message',
        breach(only_grows, SYSTEM, {**USER, "content": "…"}, USER): "request 2 of 2 has as message 2 ",
    }
    assert all(seen.startswith(expected) for seen, expected in wrong.items()), wrong


def test_what_an_answer_claims_is_held_against_the_log() -> None:
    calls = [model_call(request(SYSTEM, USER), usage={"prompt_tokens": 3, "completion_tokens": 1})]
    seen = observed(*calls)
    assert seen.answer is not None
    claimed = seen.answer.model_copy(update={"usage": Usage(prompt_tokens=4, completion_tokens=1)})
    (words,) = claims_its_usage(observed(*calls, answer=claimed))
    assert words == "4 prompt_tokens are claimed, and 3 were reported"
    assert not [*claims_its_calls(seen)]


def test_a_body_that_the_log_cut_is_not_looked_at() -> None:
    cut = model_call(request()).model_copy(update={"request_bytes": 10**6})
    assert not [*keeps_prompt(observed(cut))]


async def test_every_trial_of_a_harness_is_looked_at() -> None:
    class Asks(ReferenceAgent):
        async def answer(self, query: str) -> Any:
            await self._client.get(f"{self.endpoint.base_url}/models")
            return await super().answer(query)

    turn = ask(call("Echo_text", {"text": "x"}), call("Echo_nobody"))
    for agent, expected in ((ReferenceAgent, ()), (Asks, ("in a trial of this test, GET /v1/models was sent",))):
        with Harness(agent) as harness:
            await harness.run(turn, "done")
            assert harness.oracle.breaches(asks_nothing_else) == expected
            assert not harness.oracle.breaches(only_grows)


def test_of_very_many_breaches_some_are_kept() -> None:
    oracle = Oracle()
    for _ in range(30):
        oracle.look(observed(model_call(request(USER))))
    assert len(oracle.breaches(keeps_prompt)) == 20
