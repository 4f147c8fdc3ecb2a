"""Check the limits of a trial: its own steps and time are kept, and the framework adds none."""

from __future__ import annotations

import asyncio
import contextlib

from trialbed.records import Json
from trialbed.texts import number_of
from trialbed.tools import TOOL_TIMEOUT
from trialbed.wire import lenient_json
from trialbed_adapter_lab.harness import (
    DETAILED_USAGE,
    ApiReply,
    Barrier,
    Harness,
    Latch,
    ObservedCall,
    PreparedTrial,
    TrialRecord,
    errs,
    new_tasks,
    tool,
    wait_until,
)
from trialbed_adapter_lab.probe import CheckFailed, NotTried, Theme, expect
from trialbed_adapter_lab.trials import (
    EVERYTHING,
    asks_echo,
    converse,
    converse_on_everything,
    echoes,
    expect_answer,
    expect_calls,
    expect_equal,
    expect_fresh_trial,
    expect_requests,
    long_text,
    run_until_held,
)
from trialbed_scripted import Line, ModelTurn, ask, call, forever, say

LIMITS = Theme("limits", "Check that a trial respects its step limit, and ends when it is cancelled.")

PROMPT = 5.0
"""Seconds for a cancelled trial to end; it usually takes a few milliseconds."""


def _endless(text: str | None = None) -> Line:
    return forever(ask(call("Echo_text", {"text": "more"}), text=text))


@LIMITS.must(
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


@LIMITS.must(
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


@LIMITS.must(
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


@LIMITS.should(
    reason="All frameworks must treat the calls of the last turn in the same way.",
    hint="Make the calls of the last turn before you stop.",
)
async def calls_of_the_last_turn_are_made(harness: Harness) -> None:
    """The calls that the model asks for in the last allowed turn are still made."""
    record = await harness.run(_endless(), max_steps=3)
    expect_answer(record)
    expect_calls(record, *[("Echo_text", {"text": "more"})] * 3)


@LIMITS.must(
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


@LIMITS.should(
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


@LIMITS.should(
    binds="all",
    reason="A trial can run out of time during a request to the model too.",
    hint="Use the framework's async client; do not shield, swallow or wait out CancelledError.",
)
async def cancelled_during_a_model_request(harness: Harness) -> None:
    """Cancelled while the model is slow, the trial ends at once, and leaves no task and no request behind."""
    latch = Latch()
    await _expect_clean_cancellation(harness, harness.prepare(latch.reply(asks_echo("x"))), latch)


@LIMITS.must(
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


PATIENCE = Theme("patience", "Check that frameworks wait for slow models and tools, in trials of any length.")

SLOW = 1000.0
"""Seconds that a slow model takes, more than the longest default timeout of clients (ten minutes)."""

LONG = 10 * SLOW
"""Seconds that a trial with a slow model has."""

MANY_TURNS = 1200.0
"""Seconds that a trial of many turns has, on a machine that has much else to do."""

TURNS = 105
"""Turns of the longest trial, more than any default of a framework: each has all before it in its request."""


@PATIENCE.must(
    reason="Models that think, and endpoints under load, take minutes; the trial's own limit decides when it is over.",
    hint="Give the client limits.request_timeout, and the framework no limit of its own.",
    quick=True,
)
async def slow_model(harness: Harness) -> None:
    """A model that takes a quarter of an hour, at once and after a call, is waited for, and asked once."""
    for turns in ((), (asks_echo("x"),)):
        latch = Latch()
        trial = harness.prepare(*turns, latch.reply(say("done")), timeout=LONG)
        record = await _outlast(harness, trial, latch, SLOW)
        expect_answer(record, "done")
        expect_requests(record, len(turns) + 1)


@PATIENCE.must(
    reason="A slow tool has not failed; Trialbed itself gives up on one after a minute, for all frameworks alike.",
    hint="Set no limit on tools, or one above a minute.",
    quick=True,
)
async def slow_tool_beside_quick_ones(harness: Harness) -> None:
    """One of three calls takes most of a minute: it is made once, and the model gets its result with the others."""
    latch = Latch()
    tools = [tool(), tool("Slow_text", latch.tool())]
    turn = ask(call("Echo_text", {"text": "a"}), call("Slow_text", {"text": "b"}), call("Echo_text", {"text": "c"}))
    record = await _outlast(harness, harness.prepare(turn, "done", tools=tools, timeout=LONG), latch, TOOL_TIMEOUT - 5)
    expect_answer(record, "done")
    _, second = expect_requests(record, 2)
    told = "".join(text for _, text in second.results)
    expect(all(f'"{word}"' in told for word in "abc"), "the results of all three calls", told)
    expect(len(record.calls) == 3, "three calls, each made once", number_of(len(record.calls), "call"))


@PATIENCE.must(
    reason="A tool that never answers costs a call, and not the trial.",
    hint="tool.ainvoke() returns a text after a minute; pass it on like any other result.",
)
async def tool_that_takes_too_long(harness: Harness) -> None:
    """A tool that is slower than its own limit is answered with an error, and the run continues."""
    latch = Latch()
    trial = harness.prepare(asks_echo("slow"), "done", tools=[tool(behave=latch.tool())], timeout=LONG)
    record = await _outlast(harness, trial, latch, TOOL_TIMEOUT + 5, opens=False)
    expect_answer(record, "done")
    _, second = expect_requests(record, 2)
    expect([text[:6] for _, text in second.results] == ["Error:"], "one result that is an error", second.results)
    expect(len(record.calls) == 1, "one call of the tool", number_of(len(record.calls), "call"))


@PATIENCE.may(
    reason="Calls that wait for each other take as long as all of them together.",
    hint="Look for a bound on the number of threads or tasks of tools.",
)
async def twenty_calls_overlap(harness: Harness) -> None:
    """Twenty calls of one turn run at the same time."""
    barrier, words = Barrier(20), [str(number) for number in range(20)]
    await converse(harness, asks_echo(*words), calls=echoes(*words), tools=[tool(behave=barrier.tool())])
    expect(barrier.all_arrived, "twenty calls under way at once", "some began only after others had ended")


@PATIENCE.must(
    reason="Long tasks take many turns; a limit of the framework's own would end them early, or change them.",
    hint="Look for limits on iterations, guards against loops, memories and summaries, and switch them off.",
)
async def very_long_trial(harness: Harness) -> None:
    """Turns with a call each, ten the same, some failing, with words next to some, are all taken: 105 of them."""
    turns, tools = map(_turn, range(TURNS)), [tool(), tool("Failing_text", errs("no parrot here"))]
    record = await harness.run(*turns, "done", tools=tools, max_steps=TURNS + 10, timeout=MANY_TURNS)
    expect_answer(record)
    expect_requests(record, TURNS + 1)
    expect(len(record.calls) == TURNS, f"{TURNS} calls", number_of(len(record.calls), "call"))


@PATIENCE.must(
    reason="Real tools return long results, and a conversation holds many of them.",
    hint="Look for a limit on the length of the conversation, and for summaries of its older part.",
    quick=True,
)
async def large_results_in_sum(harness: Harness) -> None:
    """Five results of 50,000 characters each are all in the last request."""
    texts = [long_text(50_000, f"part{number}") for number in range(5)]

    async def part(made: ObservedCall) -> ApiReply:
        return ApiReply(texts[made.number])

    turns = [asks_echo(str(number)) for number in range(5)]
    record = await converse(harness, *turns, requests=6, tools=[tool(behave=part)])
    lengths = [len(text) for _, text in record.requests[-1].results]
    expect_equal("characters of the results in the last request", lengths, [len(text) for text in texts])


@PATIENCE.must(
    reason="The same call may have another result later; the model decides when to stop.",
    hint="Look for a guard against loops, which refuses or drops calls that look alike.",
    quick=True,
)
async def equal_calls_again_and_again(harness: Harness) -> None:
    """The same call in twelve turns, alone and four times in one turn, is made each time."""
    same = call("Echo_text", {"text": "again"})
    turns = [*[ask(same)] * 8, ask(*[same] * 4)]
    await converse(harness, *turns, calls=echoes(*["again"] * 12), max_steps=12)


@PATIENCE.should(
    reason="Errors, repetition and the last request are where frameworks change a request.",
    hint="Look at its steps after an error, after equal results and before its limit.",
    quick=True,
)
async def trial_with_everything(harness: Harness) -> None:
    """A trial with odd texts, errors, equal results and details of usage, up to its last request, is as usual."""
    record = await converse_on_everything(harness)
    expect_answer(record)
    expect_requests(record, EVERYTHING)
    asked = [turn.said.calls for turn in record.requests if turn.said is not None]
    expect_calls(record, *((call.name, lenient_json(call.arguments)) for calls in asked for call in calls))


async def _outlast(
    harness: Harness, trial: PreparedTrial, latch: Latch, seconds: float, *, opens: bool = True
) -> TrialRecord:
    """Run a trial and open its latch only after this much time, or never."""
    if not harness.is_async:
        raise NotTried("answer() runs in a thread, whose clock cannot be put forward")
    running = await run_until_held(trial, latch)
    try:
        await harness.pass_time(seconds)
        if opens:
            latch.open()
        return await running
    finally:
        running.cancel()
        latch.open()


def _turn(number: int) -> ModelTurn:
    """Return a turn of a long trial. Most calls are new, ten are the same, every seventh fails."""
    same = 30 <= number < 40
    name = "Failing_text" if number % 7 == 3 else "Echo_text"
    made = call("Echo_text" if same else name, {"text": "again" if same else f"call {number}"})
    return ask(made, text=f"Step {number}." if number % 5 == 0 else None, usage=DETAILED_USAGE)
