"""The oracle, on trials of a harness and on those of a server's log."""

from __future__ import annotations

import json
from typing import Any

import httpx
from support.fidelity import api_call, definition, model_call, observed, request

from trialbed.records import Answer, ApiCall, Usage
from trialbed_adapter_lab import Harness
from trialbed_adapter_lab.harness import (
    Invariant,
    Oracle,
    adds_its_turns,
    answers_calls,
    answers_with_the_last_text,
    asks_nothing_else,
    claims_its_calls,
    claims_its_turns,
    claims_its_usage,
    keeps_prompt,
    keeps_settings,
    keeps_tools,
    makes_the_calls_asked_for,
    only_grows,
    passes_results_on,
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


def said(*calls: tuple[str, str], text: str | None = None) -> dict[str, Any]:
    """The fields of a request in the log whose answer has these calls, as names and arguments, or this text."""
    named = [
        {"id": f"c{place}", "type": "function", "function": {"name": name, "arguments": arguments}}
        for place, (name, arguments) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": text, **({"tool_calls": named} if named else {})}
    reason = "tool_calls" if named else "stop"
    answer = {"id": "a", "object": "chat.completion", "choices": [{"message": message, "finish_reason": reason}]}
    written = json.dumps(answer)
    return {"response": written, "response_bytes": len(written.encode())}


def test_what_the_model_said_is_read_from_the_log() -> None:
    tool, (first, *_) = SCENARIO.tools[0], TOOLS
    name = first["function"]["name"]
    asked = model_call(request(SYSTEM, USER, tools=TOOLS), **said((name, '{"day": "Wed"}')))
    turn = {"id": "c0", "function": {"name": name, "arguments": '{"day": "Wed"}'}}
    own, result = {"role": "assistant", "tool_calls": [turn]}, {**RESULT, "tool_call_id": "c0"}
    right = api_call(tool.api, {"day": "Wed"}).model_copy(update={"response": "17"})
    wrong = api_call(tool.api, {"day": "Thu"}).model_copy(update={"response": "18"})

    def breaches(*messages: Any, call: ApiCall = right, answer: str = "done") -> list[str]:
        again = model_call(request(SYSTEM, USER, *messages, tools=TOOLS), started=1.0, **said(text="done"))
        claimed = Answer(final_answer=answer, finish="give_answer")
        seen = observed(asked, again, apis=[call], answer=claimed)
        looked_at = (adds_its_turns, passes_results_on, makes_the_calls_asked_for, answers_with_the_last_text)
        return [invariant.__name__ for invariant in looked_at if next(invariant(seen), "")]

    assert breaches(own, result) == []
    assert breaches(own, result, {**USER, "content": "Go on."}) == ["adds_its_turns"]
    assert breaches(own, {**result, "content": "1 7"}) == ["passes_results_on"]
    assert breaches(own, {**result, "content": "18"}, call=wrong) == ["makes_the_calls_asked_for"]
    assert breaches(own, result, answer="done, done") == ["answers_with_the_last_text"]


def test_an_answer_that_the_log_cut_is_not_held_against_anything() -> None:
    cut = model_call(request(SYSTEM, USER), **said(text="It is 17.")).model_copy(update={"response_bytes": 10**6})
    claimed = Answer(final_answer="It is 18.", finish="give_answer", model_turns=2)
    seen = observed(cut, answer=claimed)
    assert not [*answers_with_the_last_text(seen), *claims_its_turns(seen)]


def test_a_body_that_the_log_cut_is_not_looked_at() -> None:
    cut = model_call(request()).model_copy(update={"request_bytes": 10**6})
    assert not [*keeps_prompt(observed(cut))]


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
            assert harness.oracle.breaches(asks_nothing_else) == expected
            assert not harness.oracle.breaches(only_grows)


def test_of_very_many_breaches_some_are_kept() -> None:
    oracle = Oracle()
    for _ in range(30):
        oracle.look(observed(model_call(request(USER))))
    assert len(oracle.breaches(keeps_prompt)) == 20
    assert (oracle.trials, oracle.broken[keeps_prompt]) == (30, 30)
