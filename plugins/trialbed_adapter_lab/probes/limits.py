"""Check that a trial respects its step limit, and ends when it is cancelled."""

from __future__ import annotations

import asyncio
import contextlib

from trialbed.records import Json
from trialbed.texts import number_of
from trialbed_adapter_lab.errors import CheckFailed
from trialbed_adapter_lab.harness import Harness, Latch, PreparedTrial, new_tasks, tool, wait_until
from trialbed_adapter_lab.probe import expect, must, should
from trialbed_adapter_lab.probes._conversations import asks_echo, expect_fresh_trial, run_until_held
from trialbed_adapter_lab.probes._expectations import expect_answer, expect_calls, expect_equal, expect_requests
from trialbed_scripted import Line, ask, call, forever

PROMPT = 5.0
"""Seconds for a cancelled trial to end; it usually takes a few milliseconds."""


def _endless(text: str | None = None) -> Line:
    return forever(ask(call("Echo_text", {"text": "more"}), text=text))


@must(
    reason="The step limit bounds what a trial costs, and must be the same for all.",
    hint="Count model requests, not graph steps or tool rounds; a closing request without tools counts too.",
    quick=True,
)
async def step_limit_is_kept(harness: Harness) -> Json:
    """A model that never stops is asked exactly max_steps times: 1, 2 and 6."""
    for steps in (1, 2, 6):
        record = await harness.run(_endless(), max_steps=steps)
        refused = sum(request.refused for request in record.requests)
        made = len(record.requests) - refused
        seen = f"{refused} refused after {made}" if refused else number_of(made, "request")
        expect(made == steps and not refused, f"{number_of(steps, 'model request')} with max_steps={steps}", seen)
        expect_answer(record)
    return "kept"


@must(
    reason="A trial that was cut off has no answer; a text in its place would be scored as one.",
    hint='Return Answer(final_answer="", finish=None); drop the framework\'s own words about its limit.',
    quick=True,
)
async def unfinished_is_no_answer(harness: Harness) -> None:
    """At the step limit the final answer is empty and finish is None, whatever the model wrote next to the calls."""
    for text in (None, "I am still at it."):
        answer = expect_answer(await harness.run(_endless(text), max_steps=3))
        expect_equal("final_answer at the step limit", answer.final_answer, "")
        expect(answer.finish is None, "finish None at the step limit", answer.finish)


@must(
    reason="A limit that is one too low would cost a framework its answers.",
    hint="Stop before request max_steps + 1, not at request max_steps.",
)
async def answer_in_the_last_turn_counts(harness: Harness) -> None:
    """An answer to the last allowed request is the answer."""
    for steps in (1, 3):
        turns = [asks_echo(str(turn)) for turn in range(steps - 1)]
        record = await harness.run(*turns, "just in time", max_steps=steps)
        answer = expect_answer(record, "just in time")
        expect_equal("finish", answer.finish, "give_answer")
        expect_requests(record, steps)


@should(
    reason="All frameworks must treat the calls of the last turn in the same way.",
    hint="Make the calls of the last turn before you stop.",
)
async def calls_of_the_last_turn_are_made(harness: Harness) -> None:
    """The calls that the model asks for in the last allowed turn are still made."""
    record = await harness.run(_endless(), max_steps=3)
    expect_answer(record)
    expect_calls(record, *[("Echo_text", {"text": "more"})] * 3)


@must(
    binds="all",
    reason="What a framework makes of the gateway's refusal must not be scored as its answer.",
    hint="Raise what the framework raises; if it returns the error as a text, return finish=None.",
)
async def refusal_is_not_an_answer(harness: Harness) -> None:
    """Refused past the step limit, the trial ends, with an error or unfinished, and makes no more calls."""
    record = await harness.run(_endless(), max_steps=3)
    expect(len(record.calls) <= 3, "at most 3 calls for 3 answers", number_of(len(record.calls), "call"))
    if any(request.refused for request in record.requests) and record.answer is not None:
        expect(record.answer.finish is None, "finish None after the refusal", record.answer.finish)


@should(
    binds="all",
    reason="A trial past its deadline must not run alongside the next one.",
    hint="Do not shield, swallow or wait out CancelledError; cancel the tasks that the framework started.",
    quick=True,
)
async def cancelled_during_a_tool(harness: Harness) -> None:
    """Cancelled while a tool is slow, the trial ends at once, and leaves no task and no call behind."""
    latch = Latch()
    trial = harness.prepare(asks_echo("x"), "too late", tools=[tool(behave=latch.tool())])
    await _expect_clean_cancellation(harness, trial, latch)


@should(
    binds="all",
    reason="A trial can run out of time during a request to the model too.",
    hint="Use the framework's async client; do not shield, swallow or wait out CancelledError.",
)
async def cancelled_during_a_model_request(harness: Harness) -> None:
    """Cancelled while the model is slow, the trial ends at once, and leaves no task and no request behind."""
    latch = Latch()
    await _expect_clean_cancellation(harness, harness.prepare(latch.reply(asks_echo("x"))), latch)


@must(
    binds="all",
    reason="A trial that was cancelled must not change the next one.",
    hint="Keep nothing between trials: no client, loop, agent or memory outside the instance.",
)
async def trial_after_a_cancelled_one(harness: Harness) -> None:
    """After a trial was cancelled during a call, the next one on the same event loop runs as usual."""
    latch = Latch()
    tools = [tool(behave=latch.tool())]
    trial = harness.prepare(asks_echo("walrus"), "walrus", tools=tools, query="the walrus's query")
    await _cancel(trial, latch)
    try:
        await expect_fresh_trial(harness)
    finally:
        latch.open()


async def _expect_clean_cancellation(harness: Harness, trial: PreparedTrial, latch: Latch) -> None:
    before = asyncio.all_tasks()
    try:
        await _cancel(trial, latch)
        if harness.is_async:
            left = await new_tasks(before)
            expect(not left, "no task of the trial after it was cancelled", left)
            is_over = await wait_until(lambda: _is_over(trial))
            expect(is_over, "its request to be cancelled", "the connection stayed open")
    finally:
        latch.open()
    # A thread cannot be cancelled: an adapter in one has to end with the request that it waits for.
    expect(await wait_until(lambda: _is_over(trial), PROMPT), "every request of the trial to end", "one that goes on")


async def _cancel(trial: PreparedTrial, latch: Latch) -> None:
    running = await run_until_held(trial, latch)
    running.cancel()
    done, _ = await asyncio.wait({running}, timeout=PROMPT)
    if not done:
        latch.open()
        raise CheckFailed(f"expected the trial to end when it is cancelled; seen: it still ran {PROMPT:g} s later")
    with contextlib.suppress(asyncio.CancelledError, Exception):
        await running
    expect(running.cancelled(), "the cancellation to be passed on", "the trial ended as if nothing had happened")


def _is_over(trial: PreparedTrial) -> bool:
    return all(seen.is_over for seen in (*trial.requests, *trial.calls))
