"""Check that trials in one process do not affect each other."""

from __future__ import annotations

import asyncio

from trialbed.records import ApiRef
from trialbed_adapter_lab.errors import CheckFailed
from trialbed_adapter_lab.harness import Barrier, Harness, PreparedTrial, TrialRecord, returns, tool
from trialbed_adapter_lab.probe import expect, must, should
from trialbed_adapter_lab.probes._conversations import asks_echo, converse, echoes, expect_fresh_trial
from trialbed_adapter_lab.probes._expectations import (
    expect_answer,
    expect_calls,
    expect_equal,
    expect_requests,
    expect_words,
)
from trialbed_scripted import ask, call, fail, forever, say

AT_ONCE = 8
GATHERING = 2.0
"""Seconds that trials wait for each other; one that blocks the loop arrives too late, and runs after the others."""


@must(
    binds="all",
    reason="A conversation that continues in the next trial reveals answers to it; usage is counted per trial.",
    hint="Make a new agent, memory, session and counters in every instance; some frameworks count per process.",
    quick=True,
)
async def conversations_start_afresh(harness: Harness) -> None:
    """A second trial holds nothing of the first one's conversation, and claims as many tokens, turns and calls."""
    first, second = [
        await harness.run(asks_echo(word), word, query=f"Query {word}?", tools=[tool()]) for word in ("alpha", "gamma")
    ]
    before, answer = expect_answer(first, "alpha"), expect_answer(second, "gamma")
    expect_equal("number of requests of the second trial", len(second.requests), len(first.requests))
    for one, other in zip(expect_requests(first, 2, or_more=True), second.requests, strict=True):
        expect("alpha" not in str(other.body), "nothing of the first trial in the second's requests", other.messages)
        expect_equal("messages in the second trial's request", len(other.messages), len(one.messages))
    if second.makes_claims:
        claimed = [claim.arguments for claim in answer.calls]
        expect_equal("claimed calls of the second trial", claimed, [{"text": "gamma"}])
    for what in ("usage", "model_turns"):
        seen, expected = getattr(answer, what), getattr(before, what)
        expect(seen == expected, f"{what} of the second trial as of the first, {expected}", str(seen))


@must(
    binds="all",
    reason="Tools belong to one task; calling the tools of an earlier task is a mistake.",
    hint="Bind the tools to the instance, not to a registry of the framework's.",
)
async def tools_start_afresh(harness: Harness) -> None:
    """A second trial with a tool of the same name, but another schema and tool, offers and calls its own."""
    for word in ("alpha", "beta"):
        _expect_own(await _trial(harness, word, Barrier(1), Barrier(1)).run(), word)


@must(
    binds="all",
    reason="A result of an earlier trial is not the answer of this trial's tool.",
    hint="Switch caches of the framework's off, or keep them in the instance.",
    quick=True,
)
async def results_start_afresh(harness: Harness) -> None:
    """A second trial that makes the same call as the first reaches its tool, and gets that tool's result."""
    for word in ("alpha", "beta"):
        tools = [tool(behave=returns(f"result {word}"))]
        record = await converse(harness, asks_echo("the same"), calls=echoes("the same"), tools=tools)
        expect_words(expect_requests(record, 2, or_more=True)[1], [f"result {word}"])


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
    hint="Keep nothing outside the instance; if the framework does, give it its own context.",
    quick=True,
)
async def trials_at_once(harness: Harness) -> None:
    """Eight trials at once keep their prompts, models, tools, results and answers apart."""
    asking, calling = Barrier(AT_ONCE, GATHERING), Barrier(AT_ONCE, GATHERING)
    words = [f"trial{place}" for place in range(AT_ONCE)]
    for record, word in zip(
        await asyncio.gather(*(_trial(harness, word, asking, calling).run() for word in words)), words, strict=True
    ):
        try:
            _expect_own(record, word)
        except CheckFailed as failed:
            raise CheckFailed(f"in {word} of {AT_ONCE} at once: {failed}", failed.cause) from None


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


def _trial(harness: Harness, word: str, asking: Barrier, calling: Barrier) -> PreparedTrial:
    api = ApiRef(category="Harness", tool_name=f"Echo of {word}", api_name="call")
    schema = {"type": "object", "properties": {word: {"type": "string"}}, "required": [word]}
    return harness.prepare(
        asking.reply(ask(call("Echo_text", {word: word}))),
        f"answer {word}",
        tools=[tool(behave=calling.tool(returns(f"result {word}")), parameters=schema, api=api)],
        query=f"query {word}",
        system_prompt=f"prompt {word}",
        model=f"model-{word}",
    )


def _expect_own(record: TrialRecord, word: str) -> None:
    answer = expect_answer(record, f"answer {word}")
    for request in expect_requests(record, 2, or_more=True):
        expect_equal("model", request.body.get("model"), f"model-{word}")
    first, second, *_ = record.requests
    expect_words(first, [f"query {word}", f"prompt {word}"])
    # Whatever else the schema has.
    schema = first.parameters("Echo_text") or {}
    expect(word in schema.get("properties", {}), f"a tool with the parameter {word!r}", schema)
    expect_calls(record, ("Echo_text", {word: word}))
    expect_words(second, [f"result {word}"])
    if record.makes_claims:
        expect_equal("claimed calls", [claim.arguments for claim in answer.calls], [{word: word}])
    expect(not record.strays, "only calls of the trial's own tool", record.strays)
