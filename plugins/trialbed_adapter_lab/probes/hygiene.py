"""Check that a trial leaves nothing behind, and contacts only Trialbed's server."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import tempfile
from collections.abc import Iterator

from trialbed.texts import number_of
from trialbed_adapter_lab.errors import NotTried
from trialbed_adapter_lab.harness import (
    Harness,
    Latch,
    PassingLoop,
    TrialRecord,
    count_resources,
    new_tasks,
    process_state,
    wait_until,
)
from trialbed_adapter_lab.probe import expect, must, should
from trialbed_adapter_lab.probes._conversations import asks_echo, run_until_held
from trialbed_adapter_lab.probes._expectations import expect_answer, expect_equal
from trialbed_scripted import ModelTurn, say

WARM_UP = 5
TRIALS = 20
TOLERANCE = 4
"""Threads, files, tasks or child processes that may be added by all trials; one per trial would be 20."""

PAUSE = 0.05
"""Seconds of a sleep that is reported."""

HELD_BACK = 5.0
"""Seconds that a slow model takes at most."""


@must(
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


@must(
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


@must(
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


@must(
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


@should(
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


@should(
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


@should(
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


@must(
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
