"""Check that trials leave nothing behind, and do not affect each other."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import tempfile
from collections.abc import Iterator

from trialbed.records import ApiRef
from trialbed.texts import number_of
from trialbed_adapter_lab.harness import (
    Barrier,
    Harness,
    Latch,
    PassingLoop,
    PreparedTrial,
    TrialRecord,
    count_resources,
    new_tasks,
    process_state,
    returns,
    tool,
    wait_until,
)
from trialbed_adapter_lab.probe import CheckFailed, NotTried, Theme, expect
from trialbed_adapter_lab.trials import (
    asks_echo,
    converse,
    echoes,
    expect_answer,
    expect_calls,
    expect_equal,
    expect_fresh_trial,
    expect_requests,
    expect_words,
    run_until_held,
)
from trialbed_scripted import ModelTurn, ask, call, fail, forever, say

ISOLATION = Theme("isolation", "Check that trials in one process do not affect each other.")

AT_ONCE = 8
GATHERING = 2.0
"""Seconds that trials wait for each other; one that blocks the loop arrives too late, and runs after the others."""


@ISOLATION.must(
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


@ISOLATION.must(
    binds="all",
    reason="Tools belong to one task; calling the tools of an earlier task is a mistake.",
    hint="Bind the tools to the instance, not to a registry of the framework's.",
)
async def tools_start_afresh(harness: Harness) -> None:
    """A second trial with a tool of the same name, but another schema and tool, offers and calls its own."""
    for word in ("alpha", "beta"):
        _expect_own(await _trial(harness, word, Barrier(1), Barrier(1)).run(), word)


@ISOLATION.must(
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


@ISOLATION.must(
    binds="all",
    reason="A failed trial must not cost the next one.",
    hint="Keep nothing between trials that a failure could leave broken.",
)
async def trial_after_a_failed_one(harness: Harness) -> None:
    """After a trial whose model failed, the next one runs as usual."""
    await harness.run(asks_echo("walrus"), forever(fail(400)), query="the walrus's query")
    await expect_fresh_trial(harness)


@ISOLATION.must(
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


@ISOLATION.should(
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


HYGIENE = Theme("hygiene", "Check that a trial leaves nothing behind, and contacts only Trialbed's server.")

WARM_UP = 5
TRIALS = 20
TOLERANCE = 4
"""Threads, files, tasks or child processes that may be added by all trials; one per trial would be 20."""

PAUSE = 0.05
"""Seconds of a sleep that is reported."""

HELD_BACK = 5.0
"""Seconds that a slow model takes at most."""


@HYGIENE.must(
    binds="all",
    reason="A task that outlives its trial takes time from the next one, and may send requests in its place.",
    hint="In close(), await or cancel the tasks that the framework started.",
    quick=True,
)
async def no_tasks_are_left(harness: Harness) -> None:
    """After a trial with parallel calls no task of it is left on the event loop."""
    before = asyncio.all_tasks()
    expect_answer(await _run_usual(harness), "done")
    left = await new_tasks(before)
    expect(not left, "no tasks left by the trial", left)


@HYGIENE.must(
    binds="all",
    reason="Connections that stay open add up over a worker's life.",
    hint="Close the model's client in close(); frameworks may keep their own clients.",
)
async def connections_are_closed(harness: Harness) -> None:
    """After a trial its connections to the model are closed."""
    trial = harness.prepare(_turn(), "done")
    expect_answer(await trial.run(), "done")
    await wait_until(lambda: trial.open_connections == 0)
    left = trial.open_connections
    expect(left == 0, "no open connections to the model", number_of(left, "connection"))


@HYGIENE.must(
    binds="all",
    reason="A worker serves hundreds of trials; leftovers of each one slow down the later ones.",
    hint="Look for pools, clients and loops that are made per trial, and end them in close().",
)
async def twenty_trials_leak_nothing(harness: Harness) -> None:
    """The numbers of threads, open files, tasks and child processes do not grow over twenty trials."""
    for _ in range(WARM_UP):
        expect_answer(await _run_usual(harness), "done")
    before = count_resources()
    for _ in range(TRIALS):
        expect_answer(await _run_usual(harness), "done")

    def grown() -> list[str]:
        added = {what: count - before[what] for what, count in count_resources().items()}
        return [f"{count} more {what}" for what, count in added.items() if count > TOLERANCE]

    await wait_until(lambda: not grown())
    expect(not grown(), f"no more resources after {TRIALS} trials than before", ", ".join(grown()))


@HYGIENE.must(
    binds="all",
    reason="The next trial relies on the process being unchanged.",
    hint="Keep settings in the instance; if a framework sets variables, set them on import.",
    quick=True,
)
async def surroundings_are_untouched(harness: Harness) -> None:
    """Trials change no environment variable, working directory, signal handler or socket timeout."""
    expect_answer(await _run_usual(harness), "done")
    now = process_state()
    for what, before in harness.process_state.items():
        expect_equal(f"{what} after the trials, compared with before the first", now[what], before)


@HYGIENE.should(
    binds="all",
    reason="People read the output of bench, and scripts parse it.",
    hint="Switch the framework's own display off; log instead.",
    quick=True,
)
async def nothing_is_printed(harness: Harness) -> None:
    """A trial writes nothing to standard output."""
    with _capture_output() as printed:
        expect_answer(await _run_usual(harness), "done")
    expect(not printed, "nothing on standard output", "".join(printed))


@HYGIENE.should(
    binds="all",
    reason="A blocked event loop cannot be cancelled, and stops every other trial that runs on it.",
    hint="Use the framework's async interface, or leave answer() without async: it then runs in a thread.",
    quick=True,
)
async def event_loop_stays_free(harness: Harness) -> None:
    """The event loop keeps running while the model is slow."""
    latch = Latch(timeout=HELD_BACK)
    try:
        running = await run_until_held(harness.prepare(latch.reply(say("done"))), latch)
    finally:
        latch.open()
    expect_answer(await running, "done")


@HYGIENE.should(
    reason="A pause before each request makes every trial longer, and is not the framework's work.",
    hint="Look for throttles, polling and waits for more events; declare one that the framework cannot do without.",
)
async def nothing_pauses(harness: Harness) -> None:
    """No `asyncio.sleep` of 0.05 s or more comes before a request or a call; other ways to wait are not seen."""
    loop = asyncio.get_running_loop()
    if not (harness.is_async and isinstance(loop, PassingLoop)):
        raise NotTried("answer() runs in a thread, whose sleeps are not seen")
    before = len(loop.sleeps)
    expect_answer(await harness.run(_turn(), _turn(), "done"), "done")
    pauses = [seconds for seconds in loop.sleeps[before:] if seconds >= PAUSE]
    expect(not pauses, f"no sleep of {PAUSE:g} s or more", f"{pauses} s")


@HYGIENE.must(
    binds="all",
    reason="Traffic to other addresses is not measured, differs between frameworks, and may carry private data.",
    hint="Switch telemetry, tracing, version checks and downloads off, in code if the environment is not enough.",
    quick=True,
)
async def only_the_rig_is_talked_to(harness: Harness) -> None:
    """Only the addresses of the model and the tools are looked up or connected to, in this trial and all before it."""
    expect_answer(await _run_usual(harness), "done")
    contacts = harness.contacts()
    expect(not contacts, "no look-ups and no connections except to Trialbed's server", contacts)


async def _run_usual(harness: Harness) -> TrialRecord:
    return await harness.run(_turn(), "done")


def _turn() -> ModelTurn:
    return asks_echo("a", "b")


@contextlib.contextmanager
def _capture_output() -> Iterator[list[str]]:
    """Collect all that is written to standard output, through Python or past it."""
    printed: list[str] = []
    through_python = io.StringIO()
    with tempfile.TemporaryFile() as past_it, contextlib.ExitStack() as stack:
        kept = os.dup(1)
        stack.callback(os.close, kept)
        os.dup2(past_it.fileno(), 1)
        stack.callback(os.dup2, kept, 1)
        with contextlib.redirect_stdout(through_python):
            yield printed
        past_it.seek(0)
        printed += filter(None, [through_python.getvalue(), past_it.read().decode(errors="replace")])
