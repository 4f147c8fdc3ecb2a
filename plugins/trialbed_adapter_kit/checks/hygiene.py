"""Hygiene: a trial leaves nothing behind, and talks to nobody but the rig."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import tempfile
from collections.abc import Iterator

from trialbed_adapter_kit._check import must, should
from trialbed_adapter_kit._expect import answered, expect, expect_equal
from trialbed_adapter_kit._footprint import Holdings, new_tasks, settled, surroundings
from trialbed_adapter_kit._recording import Play
from trialbed_adapter_kit._script import Said, asks, call
from trialbed_adapter_kit._stage import Stage
from trialbed_adapter_kit._tools import Held

WARM_UP = 5
TRIALS = 20
TOLERANCE = 4
"""Threads, files, tasks or child processes that may be more after all trials; one per trial would be 20."""


@should(
    reason="A task that goes on after its trial takes time from the next one, and may send for it.",
    hint="Await or cancel in close() what the framework started.",
)
async def no_tasks_are_left(stage: Stage) -> None:
    """After a trial with parallel calls no task of it is left on the event loop."""
    before = asyncio.all_tasks()
    answered(await _usual(stage), "done")
    left = await new_tasks(before)
    expect(not left, "no tasks left by the trial", left)


@should(
    reason="Connections that stay open add up over a worker's life.",
    hint="Close the model's client in close(); frameworks may keep clients of their own.",
)
async def connections_are_closed(stage: Stage) -> None:
    """After a trial its connections to the model are closed."""
    trial = stage.prepare(_turn(), "done")
    answered(await trial.play(), "done")
    await settled(lambda: trial.open_connections == 0)
    expect(trial.open_connections == 0, "no open connections to the model", f"{trial.open_connections}")


@should(
    reason="A worker serves hundreds of trials; what each leaves behind slows the later ones down.",
    hint="Look for pools, clients and loops that are made per trial, and end them in close().",
)
async def twenty_trials_leak_nothing(stage: Stage) -> None:
    """Over twenty trials threads, open files, tasks and child processes do not grow."""
    for _ in range(WARM_UP):
        answered(await _usual(stage), "done")
    before = Holdings.now()
    for _ in range(TRIALS):
        answered(await _usual(stage), "done")
    await settled(lambda: not Holdings.now().grown(before, TOLERANCE))
    grown = Holdings.now().grown(before, TOLERANCE)
    expect(
        not grown,
        f"no more threads, files, tasks or child processes after {TRIALS} trials than before",
        ", ".join(grown),
    )


@should(
    reason="The next trial relies on it as it was.",
    hint="Keep settings in the instance; where a framework sets variables, set them on import.",
)
async def surroundings_are_untouched(stage: Stage) -> None:
    """Trials change no environment variable, working directory, signal handler or socket timeout."""
    answered(await _usual(stage), "done")
    now, before = surroundings(), stage.surroundings
    for what in before:
        expect_equal(f"{what} after the trials, compared with before the first", now[what], before[what])


@should(
    reason="Users of the rig read its output, and scripts parse it.",
    hint="Switch the framework's own display off; log instead.",
)
async def nothing_is_printed(stage: Stage) -> None:
    """A trial writes nothing to standard output."""
    with _printed() as printed:
        answered(await _usual(stage), "done")
    expect(not printed, "nothing on standard output", "".join(printed))


@should(
    reason="A loop that is blocked cannot be cancelled, and stops every other trial on it.",
    hint="Use the framework's async interface, or leave answer() without async: it then runs in a thread.",
)
async def event_loop_stays_free(stage: Stage) -> None:
    """While the model is slow the event loop goes on."""
    held = Held(patience=5.0)
    playing = asyncio.create_task(stage.play(held.line(Said("done"))))
    try:
        begun = await held.begun.wait(10.0)
        expect(begun and not playing.done(), "other tasks to run while the model is slow", "the loop was blocked")
    finally:
        held.released.give()
        play = await playing
    answered(play, "done")


@must(
    reason="What a framework sends or fetches elsewhere is neither measured nor the same for all, and may be private.",
    hint="Switch telemetry, tracing, version checks and downloads off, in code where the environment is not enough.",
)
async def only_the_rig_is_talked_to(stage: Stage) -> None:
    """No address but the model's and the Apis' has been looked up or connected to, in this trial or any before."""
    answered(await _usual(stage), "done")
    contacts = stage.contacts()
    expect(not contacts, "no look-ups and connections beside the rig", contacts)


async def _usual(stage: Stage) -> Play:
    """A trial with two calls in one turn."""
    return await stage.play(_turn(), "done")


def _turn() -> Said:
    return asks(call("Echo_text", {"text": "a"}), call("Echo_text", {"text": "b"}))


@contextlib.contextmanager
def _printed() -> Iterator[list[str]]:
    """What is written to standard output meanwhile, through Python or past it."""
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


CHECKS = (
    no_tasks_are_left,
    connections_are_closed,
    twenty_trials_leak_nothing,
    surroundings_are_untouched,
    nothing_is_printed,
    event_loop_stays_free,
    only_the_rig_is_talked_to,
)
