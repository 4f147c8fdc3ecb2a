"""Isolation: trials in one process do not affect each other."""

from __future__ import annotations

import asyncio
from typing import Any

from trialbed.records import ApiRef
from trialbed_adapter_lab.errors import CheckFailed
from trialbed_adapter_lab.harness import (
    Barrier,
    Behaviour,
    Harness,
    ObservedRequest,
    PreparedTrial,
    ScriptedTool,
    TrialRecord,
    returns,
    tool,
)
from trialbed_adapter_lab.probe import expect, must, should
from trialbed_adapter_lab.probes._conversations import asks_echo, converse, echoes, expect_fresh_trial
from trialbed_adapter_lab.probes._expectations import (
    expect_answer,
    expect_calls,
    expect_equal,
    expect_requests_at_least,
    expect_words,
)
from trialbed_scripted import ask, call, fail, forever, say

GATHERING = 2.0
"""Seconds that trials wait for each other; one that blocks the loop arrives too late, and runs after the others."""


@must(
    binds="all",
    reason="A conversation that continues in the next trial reveals answers to it.",
    hint="Make a new agent, memory and session in every instance.",
    quick=True,
)
async def conversations_start_afresh(harness: Harness) -> None:
    """A second trial begins with its own query, and holds nothing of the first one's conversation."""
    first = await harness.run(asks_echo("alpha"), "alpha", query="Query alpha?")
    second = await harness.run(asks_echo("beta"), "beta", query="Query beta?")
    expect_answer(first, "alpha")
    answer = expect_answer(second, "beta")
    expect_equal("number of requests of the second trial", len(second.requests), len(first.requests))
    for one, other in zip(expect_requests_at_least(first, 2), second.requests, strict=True):
        expect("alpha" not in str(other.body), "nothing of the first trial in the second's requests", other.messages)
        expect_equal("messages in the second trial's request", len(other.messages), len(one.messages))
    if second.makes_claims:
        claimed = [claim.arguments for claim in answer.calls]
        expect_equal("claimed calls of the second trial", claimed, [{"text": "beta"}])


@must(
    binds="all",
    reason="Tools belong to their query; those of an earlier query call other Apis.",
    hint="Bind the tools to the instance, not to a registry of the framework's.",
)
async def tools_start_afresh(harness: Harness) -> None:
    """A second trial with a tool of the same name, but another schema and Api, offers and calls its own."""
    for word in ("alpha", "beta"):
        record = await converse(
            harness, ask(call("Echo_text", {word: word})), tools=[_own_tool(word, returns(f"result {word}"))]
        )
        first, second, *_ = expect_requests_at_least(record, 2)
        _expect_parameter(first, word)
        expect_calls(record, ("Echo_text", {word: word}))
        expect_words(second, [f"result {word}"])
        expect(not record.strays, "only calls of the trial's own Api", record.strays)


@must(
    binds="all",
    reason="A result of an earlier trial is not the answer of this trial's Api.",
    hint="Switch caches of the framework's off, or keep them in the instance.",
    quick=True,
)
async def results_start_afresh(harness: Harness) -> None:
    """A second trial that makes the same call as the first reaches its Api, and gets that Api's result."""
    for word in ("alpha", "beta"):
        turn = asks_echo("the same")
        record = await converse(harness, turn, tools=[tool(behave=returns(f"result {word}"))])
        _, second, *_ = expect_requests_at_least(record, 2)
        expect_calls(record, *echoes("the same"))
        expect_words(second, [f"result {word}"])


@must(
    binds="all",
    reason="Usage and turns are counted per trial.",
    hint="Count in the instance; some frameworks add up over the life of a process.",
)
async def counts_start_afresh(harness: Harness) -> None:
    """A second trial like the first claims as many tokens, turns and calls as the first."""
    first, second = [expect_answer(await harness.run(asks_echo("x"), "done"), "done") for _ in range(2)]
    for what in ("usage", "model_turns"):
        seen, expected = getattr(second, what), getattr(first, what)
        expect(seen == expected, f"{what} of the second trial as of the first, {expected}", str(seen))
    expect_equal("number of claimed calls of the second trial", len(second.calls), len(first.calls))


@must(
    binds="all",
    reason="A failed trial must not cost the next one.",
    hint="Keep nothing between trials that a failure could leave broken.",
)
async def trial_after_a_failed_one(harness: Harness) -> None:
    """After a trial whose model failed, the next one runs as usual."""
    await harness.run(asks_echo("walrus"), forever(fail(400)), query="the walrus's query")
    await expect_fresh_trial(harness)


@must(
    binds="all",
    reason="Workers may run trials side by side; if they mix, their results mean nothing.",
    hint="Keep nothing outside the instance; where the framework does, give it a context of its own.",
    quick=True,
)
async def two_trials_at_once(harness: Harness) -> None:
    """Two trials at once keep their prompts, models, tools, results and answers apart."""
    await _at_once(harness, 2)


@must(
    binds="all",
    reason="More trials at once find faults that two do not.",
    hint="Keep nothing outside the instance; where the framework does, give it a context of its own.",
)
async def eight_trials_at_once(harness: Harness) -> None:
    """Eight trials at once keep their prompts, models, tools, results and answers apart."""
    await _at_once(harness, 8)


@should(
    binds="all",
    reason="Trials that wait for each other take as long as all of them, and run into their time limits.",
    hint="Look for a lock or a single loop of the process around the framework's run.",
)
async def trials_run_at_the_same_time(harness: Harness) -> None:
    """Two trials ask the model at the same time."""
    barrier = Barrier(2)
    trials = [harness.prepare(barrier.reply(say("done"))) for _ in range(2)]
    for record in await asyncio.gather(*(trial.run() for trial in trials)):
        expect_answer(record, "done")
    expect(barrier.all_arrived, "two requests under way at once", "the second trial began after the first had ended")


async def _at_once(harness: Harness, number: int) -> None:
    asking, calling = Barrier(number, GATHERING), Barrier(number, GATHERING)
    trials = [_trial(harness, f"trial{place}", asking, calling) for place in range(number)]
    records = await asyncio.gather(*(trial.run() for trial in trials))
    for place, record in enumerate(records):
        try:
            _expect_own(record, f"trial{place}")
        except CheckFailed as failed:
            raise CheckFailed(f"in trial {place} of {number} at once: {failed}", failed.cause) from None


def _trial(harness: Harness, word: str, asking: Barrier, calling: Barrier) -> PreparedTrial:
    return harness.prepare(
        asking.reply(ask(call("Echo_text", {word: word}))),
        f"answer {word}",
        tools=[_own_tool(word, calling.tool(returns(f"result {word}")))],
        query=f"query {word}",
        system_prompt=f"prompt {word}",
        model=f"model-{word}",
    )


def _expect_own(record: TrialRecord, word: str) -> None:
    answer = expect_answer(record, f"answer {word}")
    for request in expect_requests_at_least(record, 2):
        expect_equal("model", request.body.get("model"), f"model-{word}")
    first, second, *_ = record.requests
    expect_words(first, [f"query {word}", f"prompt {word}"])
    _expect_parameter(first, word)
    expect_calls(record, ("Echo_text", {word: word}))
    expect_words(second, [f"result {word}"])
    if record.makes_claims:
        expect_equal("claimed calls", [claim.arguments for claim in answer.calls], [{word: word}])
    expect(not record.strays, "only calls of the trial's own Api", record.strays)


def _expect_parameter(request: ObservedRequest, word: str) -> None:
    """Expect that the offered tool is the trial's, whatever else its schema has."""
    schema = request.parameters("Echo_text") or {}
    expect(word in schema.get("properties", {}), f"a tool with the parameter {word!r}", schema)


def _own_tool(word: str, behave: Behaviour) -> ScriptedTool:
    api = ApiRef(category="Harness", tool_name=f"Echo of {word}", api_name="call")
    return tool(behave=behave, parameters=_own_schema(word), api=api)


def _own_schema(word: str) -> dict[str, Any]:
    return {"type": "object", "properties": {word: {"type": "string"}}, "required": [word]}
