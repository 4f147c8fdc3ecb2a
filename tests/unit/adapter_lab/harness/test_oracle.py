"""The oracle, on trials of a harness and on those of a server's log."""

from __future__ import annotations

import json
from typing import Any

import httpx
from support.fidelity import api_call, definition, model_call, observed, request

from trialbed.records import Answer, ApiCall, Usage
from trialbed_adapter_lab import Harness
from trialbed_adapter_lab.harness import INVARIANTS, Oracle, stations
from trialbed_plugins.frameworks.reference import ReferenceAgent
from trialbed_scripted import ask, call

BREACHES = {invariant.name: invariant.breaches for invariant in INVARIANTS}
SCENARIO = stations(4, 2)
TOOLS = [definition(tool) for tool in SCENARIO.tools]
SYSTEM = {"role": "system", "content": "Do it."}
USER = {"role": "user", "content": SCENARIO.query}
SAID = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}]}
RESULT = {"role": "tool", "tool_call_id": "c", "content": "17"}
SETTINGS = {"temperature": 0.0, "seed": 0}


def breach(invariant: str, *messages: Any, **changed: Any) -> str:
    """The breach of a trial whose second request has these messages and fields."""
    first = request(SYSTEM, USER, **{"tools": TOOLS, **SETTINGS})
    second = request(*messages, **{"tools": TOOLS, **SETTINGS, **changed})
    return next(BREACHES[invariant](observed(model_call(first), model_call(second))), "")


def test_each_invariant_of_requests_names_the_request_that_breaks_it() -> None:
    right = (SYSTEM, USER, SAID, RESULT)
    for invariant in (
        "prompt_and_query_stay",
        "tools_stay",
        "settings_stay",
        "conversation_only_grows",
        "results_follow_their_calls",
    ):
        assert breach(invariant, *right) == ""
    wrong = {
        breach(
            "prompt_and_query_stay", *right[1:]
        ): 'request 2 of 2 has no system message with the trial\'s text: [], not "Do it."',
        breach("tools_stay", *right, tools=TOOLS[1:]): f'request 2 of 2 does not offer ["{SCENARIO.tools[0].name}"]',
        breach("settings_stay", *right, seed=7): "request 2 of 2 has the seed 7, not 0",
        breach(
            "results_follow_their_calls", SYSTEM, USER, RESULT
        ): 'request 2 of 2 has a result of the call "c", which no message',
        breach("conversation_only_grows", SYSTEM, {**USER, "content": "…"}, USER): "request 2 of 2 has as message 2 ",
    }
    assert all(seen.startswith(expected) for seen, expected in wrong.items()), wrong


def test_what_an_answer_claims_is_held_against_the_log() -> None:
    calls = [model_call(request(SYSTEM, USER), usage={"prompt_tokens": 3, "completion_tokens": 1})]
    seen = observed(*calls)
    assert seen.answer is not None
    claimed = seen.answer.model_copy(update={"usage": Usage(prompt_tokens=4, completion_tokens=1)})
    (words,) = BREACHES["usage_is_right_everywhere"](observed(*calls, answer=claimed))
    assert words == "4 prompt_tokens are claimed, and 3 were reported"
    assert not [*BREACHES["claims_are_right_everywhere"](seen)]


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
    assert breaches(own, {**result, "content": "18"}, call=wrong) == ["calls_are_the_models"]
    assert breaches(own, result, answer="done, done") == ["answers_are_the_last_text"]


def test_an_answer_that_the_log_cut_is_not_held_against_anything() -> None:
    cut = model_call(request(SYSTEM, USER), **said(text="It is 17.")).model_copy(update={"response_bytes": 10**6})
    claimed = Answer(final_answer="It is 18.", finish="give_answer", model_turns=2)
    seen = observed(cut, answer=claimed)
    assert not [*BREACHES["answers_are_the_last_text"](seen), *BREACHES["turns_are_right_everywhere"](seen)]


def test_a_body_that_the_log_cut_is_not_looked_at() -> None:
    cut = model_call(request()).model_copy(update={"request_bytes": 10**6})
    assert not [*BREACHES["prompt_and_query_stay"](observed(cut))]


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


def test_of_very_many_breaches_some_are_kept() -> None:
    oracle = Oracle()
    for _ in range(30):
        oracle.look(observed(model_call(request(USER))))
    assert len(oracle.breaches("prompt_and_query_stay")) == 20
    assert (oracle.trials, oracle.broken["prompt_and_query_stay"]) == (30, 30)
