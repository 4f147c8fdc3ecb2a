"""One scoring process as the engine sees it, and their messages: pickled, each behind its length."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import struct
import sys
from asyncio.subprocess import PIPE, Process
from typing import Any, BinaryIO, Literal, NamedTuple

from trialbed.child_processes import end_process
from trialbed.contracts import Judge, Verdict
from trialbed.errors import JudgeError, ModelFailed, TrialbedError
from trialbed.model_access import run_step
from trialbed.records import Answer, Query, WireLog
from trialbed.scoring import MEMORY, PROCESSOR_SECONDS, SILENT_SECONDS, ScoringStopped

HEADER = struct.Struct(">Q")
LONGEST = 64 * 2**20
"""Bytes of a message of a scoring process."""


class Order(NamedTuple):
    """A method of the process's ``Worker`` to call: ``score``, ``ask_judge`` or ``call``."""

    method: Literal["score", "ask_judge", "call"]
    arguments: tuple[Any, ...]


class Question(NamedTuple):
    """Asks the engine for a verdict of its judge."""

    query: Query
    answer: Answer
    wire: WireLog


class ModelStep(NamedTuple):
    """Asks the engine for a step of its access to the judge's model."""

    name: str
    arguments: tuple[Any, ...]


class Given(NamedTuple):
    """The result of an order, or why there is none."""

    result: Any
    failure: str | None = None


class Reply(NamedTuple):
    """What a judge was asked for, or why there is none."""

    verdict: Verdict | None
    error: str = ""


class StepDone(NamedTuple):
    """The result of a step, or the error that it raised."""

    result: Any
    error: Exception | None = None


def pack_message(message: Any) -> bytes:
    """Return a message as bytes."""
    body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return HEADER.pack(len(body)) + body


def read_message(stream: BinaryIO) -> Any:
    """Read the next message.

    Raises:
        EOFError: the other side has ended.
    """
    head = stream.read(HEADER.size)
    if len(head) < HEADER.size:
        raise EOFError
    (length,) = HEADER.unpack(head)
    return pickle.loads(stream.read(length))  # noqa: S301 - the engine is the other side


class ScoringProcess:
    """One process, as the engine sees it."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None  # noqa: S101 - both are pipes
        assert process.stdout is not None  # noqa: S101
        self._process = process
        self._stdin, self._stdout = process.stdin, process.stdout
        self.orders = 0

    @classmethod
    async def start(cls) -> ScoringProcess:
        """Start one."""
        # It finds what this process finds, and gets no signal from the terminal: the engine ends it.
        folders = os.pathsep.join(folder or os.curdir for folder in sys.path)
        arguments = (sys.executable, "-P", "-m", "trialbed.scoring_process")
        environment = {**os.environ, "PYTHONPATH": folders}
        return cls(
            await asyncio.create_subprocess_exec(
                *arguments, stdin=PIPE, stdout=PIPE, env=environment, start_new_session=True
            )
        )

    async def do(self, order: Order, judge: Judge) -> Given:
        """Have an order done; the process's questions go to the judge, or to its model.

        Raises:
            ScoringStopped: a limit was passed, or the process ended.
        """
        self.orders += 1
        try:
            await self._send(order)
            while not isinstance(message := await self._read(), Given):
                if isinstance(message, Question):
                    await self._send(await _reply(judge, message))
                elif isinstance(message, ModelStep):
                    await self._send(await _step(judge, message))
        except (asyncio.IncompleteReadError, BrokenPipeError, ConnectionResetError):
            raise ScoringStopped(_end_of(await self._process.wait())) from None
        except TimeoutError:
            raise ScoringStopped(f"was silent for {SILENT_SECONDS:.0f} s") from None
        if message.failure is not None and message.failure.startswith("MemoryError"):
            raise ScoringStopped(f"needs more than {MEMORY // 2**30} GiB of memory")
        return message

    async def _send(self, message: Any) -> None:
        self._stdin.write(pack_message(message))
        await self._stdin.drain()

    async def _read(self) -> Any:
        async with asyncio.timeout(SILENT_SECONDS):
            (length,) = HEADER.unpack(await self._stdout.readexactly(HEADER.size))
            if length > LONGEST:
                raise ScoringStopped(f"gave a result of more than {LONGEST // 2**20} MiB")
            return pickle.loads(await self._stdout.readexactly(length))  # noqa: S301 - plugins run there that would run here

    async def end(self) -> None:
        """End the process."""
        await end_process(self._process)


async def _reply(judge: Judge, question: Question) -> Reply:
    try:
        return Reply(await judge.judge(*question))
    except JudgeError as error:
        return Reply(None, str(error))
    except Exception as error:  # noqa: BLE001 - a judge is foreign code: its fault must not cost the other scores
        return Reply(None, f"{type(error).__name__}: {error}")


async def _step(judge: Judge, step: ModelStep) -> StepDone:
    if judge.model is None:
        return StepDone(None, ModelFailed("the judge has no model"))
    try:
        return StepDone(await run_step(judge.model, step.name, step.arguments))
    except TrialbedError as error:
        return StepDone(None, error)
    except Exception as error:  # noqa: BLE001 - whatever the request is, its fault is the judge's
        return StepDone(None, ModelFailed(f"{type(error).__name__}: {error}"))


def _end_of(status: int) -> str:
    if hasattr(signal, "SIGPROF") and status == -signal.SIGPROF:
        return f"takes more than {PROCESSOR_SECONDS} s of work"
    if status < 0:
        return f"was ended by {signal.Signals(-status).name}"
    return f"ended its process with code {status}"
