"""Isolation: trials of one process know nothing of each other."""

from __future__ import annotations

import asyncio
from typing import Any

from trialbed.records import ApiRef, Usage
from trialbed_adapter_kit._check import CheckFailed, must
from trialbed_adapter_kit._expect import answered, asked, called, expect, expect_equal, told
from trialbed_adapter_kit._recording import ModelRequest, Play
from trialbed_adapter_kit._script import asks, call, fails
from trialbed_adapter_kit._stage import Stage
from trialbed_adapter_kit._tools import Behaviour, Meeting, StageTool, returns, tool
from trialbed_adapter_kit._trial import StageTrial

GATHERING = 2.0
"""Seconds that trials wait for each other; one that blocks the loop comes too late, and is played after the others."""


@must(
    reason="A conversation that goes on in the next trial gives its answers away.",
    hint="Make a new agent, memory and session in every instance.",
)
async def conversations_start_afresh(stage: Stage) -> None:
    """A second trial begins with its own query, and holds nothing of the first one's conversation."""
    first = await stage.play(asks(call("Echo_text", {"text": "alpha"})), "alpha", query="Query alpha?")
    second = await stage.play(asks(call("Echo_text", {"text": "beta"})), "beta", query="Query beta?")
    answered(first, "alpha")
    answer = answered(second, "beta")
    for one, other in zip(asked(first, 2), asked(second, 2), strict=True):
        expect("alpha" not in str(other.body), "nothing of the first trial in the second's requests", other.messages)
        expect_equal("messages in the second trial's request", len(other.messages), len(one.messages))
    expect_equal("claimed calls of the second trial", [claim.arguments for claim in answer.calls], [{"text": "beta"}])


@must(
    reason="Tools are the query's; those of the query before answer for other Apis.",
    hint="Bind the tools to the instance, not to a registry of the framework's.",
)
async def tools_start_afresh(stage: Stage) -> None:
    """A second trial with a tool of the same name, but another schema and Api, offers and calls its own."""
    for word in ("alpha", "beta"):
        play = await stage.play(
            asks(call("Echo_text", {word: word})), "done", tools=[_own_tool(word, returns(f"result {word}"))]
        )
        answered(play, "done")
        first, second = asked(play, 2)
        _offers(first, word)
        called(play, ("Echo_text", {word: word}))
        told(second, [f"result {word}"])
        expect(not play.strays, "only calls of the trial's own Api", play.strays)


@must(
    reason="Usage and turns are the trial's own.",
    hint="Count in the instance; some frameworks add up over the life of a process.",
)
async def counts_start_afresh(stage: Stage) -> None:
    """A second trial claims its own tokens and turns only."""
    for _ in range(2):
        play = await stage.play(asks(call("Echo_text", {"text": "x"})), "done")
        answer = answered(play, "done")
        usage = Usage(prompt_tokens=22, completion_tokens=6)
        expect(answer.usage in (None, usage), f"usage {usage.model_dump()}, or None", answer.usage)
        expect(answer.model_turns in (None, 2), "model_turns 2, or None", answer.model_turns)


@must(
    reason="A failed trial must not cost the next one.",
    hint="Keep nothing between trials that a failure could leave broken.",
)
async def trial_after_a_failed_one(stage: Stage) -> None:
    """After a trial whose model failed the next one is as any other."""
    await stage.play(asks(call("Echo_text", {"text": "first"})), fails(500), query="the first query")
    play = await stage.play(asks(call("Echo_text", {"text": "second"})), "second", query="the second query")
    answered(play, "second")
    _, last = asked(play, 2)
    called(play, ("Echo_text", {"text": "second"}))
    expect("first" not in str(last.messages), "nothing of the first trial in the second's conversation", last.messages)


@must(
    reason="Workers may run trials side by side; mixed-up trials measure nothing.",
    hint="Keep nothing outside the instance; where the framework does, give it a context of its own.",
)
async def two_trials_at_once(stage: Stage) -> None:
    """Two trials at once keep their prompts, models, tools, results and answers apart."""
    await _at_once(stage, 2)


@must(
    reason="More trials at once find what two do not.",
    hint="Keep nothing outside the instance; where the framework does, give it a context of its own.",
)
async def eight_trials_at_once(stage: Stage) -> None:
    """Eight trials at once keep their prompts, models, tools, results and answers apart."""
    await _at_once(stage, 8)


async def _at_once(stage: Stage, number: int) -> None:
    asking, calling = Meeting(number, GATHERING), Meeting(number, GATHERING)
    trials = [_trial(stage, f"trial{place}", asking, calling) for place in range(number)]
    plays = await asyncio.gather(*(trial.play() for trial in trials))
    for place, play in enumerate(plays):
        try:
            _is_its_own(play, f"trial{place}")
        except CheckFailed as failed:
            raise CheckFailed(f"in trial {place} of {number} at once: {failed}") from None


def _trial(stage: Stage, word: str, asking: Meeting, calling: Meeting) -> StageTrial:
    return stage.prepare(
        asking.line(asks(call("Echo_text", {word: word}))),
        f"answer {word}",
        tools=[_own_tool(word, calling.tool(returns(f"result {word}")))],
        query=f"query {word}",
        system_prompt=f"prompt {word}",
        model=f"model-{word}",
    )


def _is_its_own(play: Play, word: str) -> None:
    answer = answered(play, f"answer {word}")
    for request in asked(play, 2):
        expect_equal("model", request.body.get("model"), f"model-{word}")
        expect(any(f"query {word}" in text for text in request.said_by("user")), f"query {word}", request.messages)
        prompts = request.said_by("system", "developer")
        expect(any(f"prompt {word}" in text for text in prompts), f"prompt {word}", prompts)
        _offers(request, word)
    called(play, ("Echo_text", {word: word}))
    told(play.requests[1], [f"result {word}"])
    expect_equal("claimed calls", [claim.arguments for claim in answer.calls], [{word: word}])
    expect(not play.strays, "only calls of the trial's own Api", play.strays)


def _offers(request: ModelRequest, word: str) -> None:
    """The tool on offer is the one of the trial, whatever else the framework makes of its schema."""
    schema = request.parameters("Echo_text") or {}
    expect(list(schema.get("properties", {})) == [word], f"a tool with the parameter {word!r}", schema)


def _own_tool(word: str, behave: Behaviour) -> StageTool:
    api = ApiRef(category="Stage", tool_name=f"Echo of {word}", api_name="call")
    return tool(behave=behave, parameters=_own_schema(word), api=api)


def _own_schema(word: str) -> dict[str, Any]:
    return {"type": "object", "properties": {word: {"type": "string"}}, "required": [word]}


CHECKS = (
    conversations_start_afresh,
    tools_start_afresh,
    counts_start_afresh,
    trial_after_a_failed_one,
    two_trials_at_once,
    eight_trials_at_once,
)
