"""Check that frameworks wait for slow models and tools, in trials of any length."""

from __future__ import annotations

from trialbed.texts import number_of
from trialbed.tools import TOOL_TIMEOUT
from trialbed.wire import lenient_json
from trialbed_adapter_lab.errors import NotTried
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
    tool,
)
from trialbed_adapter_lab.probe import expect, may, must, should
from trialbed_adapter_lab.probes._conversations import (
    EVERYTHING,
    asks_echo,
    converse,
    converse_on_everything,
    echoes,
    long_text,
    run_until_held,
)
from trialbed_adapter_lab.probes._expectations import expect_answer, expect_calls, expect_equal, expect_requests
from trialbed_scripted import ModelTurn, ask, call, say

SLOW = 1000.0
"""Seconds that a slow model takes, more than the longest default timeout of clients (ten minutes)."""

LONG = 10 * SLOW
"""Seconds that a trial with a slow model has."""

MANY_TURNS = 1200.0
"""Seconds that a trial of many turns has, on a machine that has much else to do."""

TURNS = 105
"""Turns of the longest trial, more than any default of a framework: each has all before it in its request."""


@must(
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


@must(
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


@must(
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


@may(
    reason="Calls that wait for each other take as long as all of them together.",
    hint="Look for a bound on the number of threads or tasks of tools.",
)
async def twenty_calls_overlap(harness: Harness) -> None:
    """Twenty calls of one turn run at the same time."""
    barrier, words = Barrier(20), [str(number) for number in range(20)]
    await converse(harness, asks_echo(*words), calls=echoes(*words), tools=[tool(behave=barrier.tool())])
    expect(barrier.all_arrived, "twenty calls under way at once", "some began only after others had ended")


@must(
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


@must(
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


@must(
    reason="The same call may have another result later; the model decides when to stop.",
    hint="Look for a guard against loops, which refuses or drops calls that look alike.",
    quick=True,
)
async def equal_calls_again_and_again(harness: Harness) -> None:
    """The same call in twelve turns, alone and four times in one turn, is made each time."""
    same = call("Echo_text", {"text": "again"})
    turns = [*[ask(same)] * 8, ask(*[same] * 4)]
    await converse(harness, *turns, calls=echoes(*["again"] * 12), max_steps=12)


@should(
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
