"""Processes for scoring trials, to keep texts and plugins from blocking a run."""

from __future__ import annotations

import asyncio
import inspect
import os
import pickle
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from dataclasses import replace
from functools import cache, partial
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any, cast

from trialbed.contracts import Judge
from trialbed.errors import JudgeError
from trialbed.records import Score
from trialbed.scoring import (
    JUDGED,
    MEMORY,
    PROCESSOR_SECONDS,
    SILENT_SECONDS,
    RelayedJudge,
    ScoreContext,
    ScoringStopped,
    ask_judge,
    judged_score,
    open_criteria,
    run_criteria,
    trial_size,
)

if TYPE_CHECKING:
    from trialbed.listeners import Listeners

MOST = 2
"""Processes of one run that score."""

TRIALS = 200
"""Calls after which a process is replaced, to bound the garbage that plugins leave behind."""

REPEATS = 3
"""How often a call is repeated after its process was killed."""

SAFE_PATH = "PYTHONSAFEPATH"
"""The variable that keeps Python from importing modules of its working folder."""

LONGEST = 64 * 2**20
"""Bytes of a scoring process's result."""

ABSENT = "it cannot be asked from a scoring process"


class ScoringProcesses(AbstractAsyncContextManager["ScoringProcesses"]):
    """Scores trials, and reads foreign texts, in processes that start when first needed and serve many trials.

    Each call has ``PROCESSOR_SECONDS`` of work and a process ``MEMORY``; a process that passes a limit is replaced.
    """

    def __init__(self) -> None:
        self._idle: list[_Process] = []
        self._slots = asyncio.Semaphore(MOST)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        idle, self._idle = self._idle, []
        for process in idle:
            await process.end()

    async def score(self, plugin: str | None, context: ScoreContext) -> Sequence[Score]:
        """Return the scores of a plugin, or only the judge's score without a plugin.

        Raises:
            ScoringStopped: it passed a limit.
            RuntimeError: it failed; the text is why.
        """
        judge, sent = context.judge, context
        if isinstance(judge, RelayedJudge) or judge.model is not None:
            sent = replace(context, judge=cast("Judge", None))
        scores: list[Score] = await self.call(_score, plugin, sent)
        for place, score in enumerate(scores):
            if score.name == JUDGED and score.failure is not None and score.failure.message.endswith(ABSENT):
                outcomes = {name: value for name, value in score.detail.items() if name != "method"}
                scores[place] = await ask_judge(context, outcomes)
        return scores

    async def judge_score(self, context: ScoreContext) -> Score:
        """Return the judge's score.

        Raises:
            ScoringStopped: the trial's texts are more than can be read within the limits, by any judge.
            RuntimeError: it failed; the text is why.
        """
        if trial_size(context.answer, context.wire) != "large":
            return await judged_score(context)
        return (await self.score(None, context))[0]

    async def call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """Return the result of a function, async or not, that a process calls.

        Raises:
            ScoringStopped: it passed a limit.
            RuntimeError: it failed; the text is why.
        """
        for _ in range(REPEATS):
            with suppress(_Killed):  # by something else: a limit of its own would end it otherwise
                return await self._call(partial(function, *arguments, **named))
        return await self._call(partial(function, *arguments, **named))

    async def _call(self, work: Callable[[], Any]) -> Any:
        async with self._slots:
            process = self._idle.pop() if self._idle else _Process()
            try:
                return await process.call(work)
            finally:
                if process.serves and process.calls < TRIALS:
                    self._idle.append(process)
                else:
                    await asyncio.shield(process.end())


async def with_criteria(context: ScoreContext, processes: ScoringProcesses | None) -> ScoreContext:
    """Return a trial's context with the findings of its judge on the criteria of the task.

    If they decide nothing, the judge is not asked, because its model costs the same for a trial that has failed anyway.

    Args:
        processes: read long texts; None reads all here.

    Raises:
        ScoringStopped: the trial's texts are more than can be read within the limits.
    """
    expected = context.query.expected
    if expected is None or not expected.all_criteria:
        return context
    if processes is None or trial_size(context.answer, context.wire) != "large":
        asked = await asyncio.to_thread(open_criteria, context)
    else:  # no judge is asked there, and few can be sent
        asked = await processes.call(open_criteria, replace(context, judge=cast("Judge", None)))
    found = await run_criteria(context.judge, context, asked)
    names = {result.name for result in found}
    others = (result for result in context.checks if result.name not in names)
    return replace(context, checks=(*others, *found))


class _Killed(ScoringStopped):
    """The process was killed."""


class _Process:
    """A process that does one call after the other.

    Attributes:
        serves: whether it can do a further call.
    """

    def __init__(self) -> None:
        # Most runs start none.
        from concurrent.futures import ProcessPoolExecutor
        from multiprocessing import get_context

        self.calls = 0
        self.serves = True
        self._pool = ProcessPoolExecutor(1, get_context("spawn"), _begin)
        with _unseen():
            self._pool.submit(os.getpid)  # starts it
        (self._process,) = self._pool._processes.values()

    async def call(self, work: Callable[[], Any]) -> Any:
        self.calls += 1
        self.serves = False
        try:
            async with asyncio.timeout(SILENT_SECONDS):
                found = await asyncio.wrap_future(self._pool.submit(_carry_out, work))
        except BrokenExecutor:
            await asyncio.to_thread(self._pool.shutdown)  # waits for the process
            raise _end_of(self._process.exitcode) from None
        except TimeoutError:
            raise ScoringStopped(f"takes more than {SILENT_SECONDS:.0f} s") from None
        except RuntimeError:
            self.serves = True
            raise
        self.serves = True
        return pickle.loads(found)  # noqa: S301 - plugins run there that would run here

    async def end(self) -> None:
        self._process.kill()
        await asyncio.to_thread(self._pool.shutdown)


@contextmanager
def _unseen() -> Iterator[None]:
    """Start processes without running the user's program in them, and without signals from the terminal."""
    main, sys.modules["__main__"] = sys.modules["__main__"], ModuleType("__main__")
    # Until they have this program's path, they would import a `random.py` of the folder that it was started in.
    safe, os.environ[SAFE_PATH] = os.environ.get(SAFE_PATH), "1"
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT]) if hasattr(signal, "pthread_sigmask") else None
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        del os.environ[SAFE_PATH]
        if safe is not None:
            os.environ[SAFE_PATH] = safe
        if blocked is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)


def _end_of(status: int | None) -> ScoringStopped:
    if status is None:
        return ScoringStopped("ended its process")
    if status >= 0:
        return ScoringStopped(f"ended its process with code {status}")
    name = signal.Signals(-status).name
    if name == "SIGPROF":
        return ScoringStopped(f"takes more than {PROCESSOR_SECONDS} s of work")
    return (_Killed if name == "SIGKILL" else ScoringStopped)(f"was ended by {name}")


# What follows runs in the processes.


def _begin() -> None:
    from multiprocessing import parent_process

    os.environ.pop(SAFE_PATH, None)
    os.dup2(2, 1)  # what plugins print is no output of the run
    threading.Thread(target=_end_after, args=(parent_process(),), daemon=True).start()
    if hasattr(os, "setsid"):
        os.setsid()
    with suppress(ImportError):  # Windows has no such limit
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_DATA)
        limit = MEMORY if most == resource.RLIM_INFINITY else min(MEMORY, most)
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _end_after(parent: Any) -> None:
    """End this process when its parent ends, for any reason."""
    parent.join()
    os._exit(1)


def _carry_out(work: Callable[[], Any]) -> bytes:
    """Return the result of a function, pickled, or its exception as text."""
    # The system ends the process after this much work, even if code blocks the interpreter. Windows has no such timer.
    limit_work = partial(signal.setitimer, signal.ITIMER_PROF) if hasattr(signal, "setitimer") else lambda _: None
    limit_work(PROCESSOR_SECONDS)
    try:
        found = work()
        packed = pickle.dumps(_runner().run(found) if inspect.iscoroutine(found) else found)
    except MemoryError:
        raise ScoringStopped(f"needs more than {MEMORY // 2**30} GiB of memory") from None
    except Exception as error:  # noqa: BLE001 - foreign code
        raise RuntimeError(f"{type(error).__name__}: {error}") from None
    finally:
        limit_work(0)
    if len(packed) > LONGEST:
        raise ScoringStopped(f"gave a result of more than {LONGEST // 2**20} MiB")
    return packed


@cache
def _runner() -> asyncio.Runner:
    """Return the event loop that keeps the connections of judges and plugins."""
    return asyncio.Runner()


@cache
def _listeners() -> Listeners:
    from trialbed.plugins import installed_listeners

    return installed_listeners()


async def _score(plugin: str | None, context: ScoreContext) -> Sequence[Score]:
    """Score a trial by one plugin; a judge that the context lacks is asked later."""
    context = replace(context, judge=context.judge or RelayedJudge(_refuse))
    return [await judged_score(context)] if plugin is None else await _listeners().score_by(plugin, context)


async def _refuse(_method: str, *_arguments: Any) -> Any:
    raise JudgeError(ABSENT)
