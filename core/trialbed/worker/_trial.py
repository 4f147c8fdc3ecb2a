"""One trial: a fresh agent gets its tools, answers, and is closed; its exceptions become failures."""

from __future__ import annotations

import asyncio
import inspect
import os
import random
import sys
import time
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from trialbed.answers import answer_names, read_answer
from trialbed.contracts import BaseAgent
from trialbed.errors import AnswerError, ModelFailed
from trialbed.records import Answer, Failure, FailureKind, Outcome, TrialSpec
from trialbed.tools import BlockingClient, Tool, connected_tools
from trialbed.wire._httpx import httpx
from trialbed.wire.redaction import redact

MAX_MESSAGE = 2_000
MAX_DETAIL = 16_000


class WorkerTrial:
    """Runs one trial specification.

    Args:
        owner_only: ends the process if it is a fork; called wherever an agent hands control back.
        clock: called when the agent's work begins (True) and ends (False).

    Attributes:
        close_error: the exception of the agent's ``close`` after its answer, which stays.
    """

    def __init__(
        self, spec: TrialSpec, owner_only: Callable[[], None], clock: Callable[[bool], None] | None = None
    ) -> None:
        self._spec = spec
        self._owner_only = owner_only
        self._clock = clock or _no_clock
        self.close_error: BaseException | None = None
        self._started_at = datetime.now(UTC)
        self._begun = self._ended = time.perf_counter()
        self._cpu_begun = self._cpu_ended = _processor_time()

    async def run(
        self, agent_class: type[BaseAgent], client: httpx.AsyncClient, blocking: BlockingClient | None = None
    ) -> Outcome:
        """Run the agent; its exceptions are raised."""
        seed_random_state(self._spec.endpoint.seed)
        agent = agent_class(self._spec.endpoint, self._spec.limits, system_prompt=self._spec.system_prompt)
        tools = connected_tools(self._spec.tools, self._spec.server_url, client, blocking)
        try:
            value = await self._answer(agent, tools)
        except BaseException as error:
            await _close_after(agent, error)
            raise
        try:
            await _settle(agent.close())
        except (Exception, SystemExit) as error:  # noqa: BLE001 - foreign code: it takes no answer away
            self.close_error = error
        return self._outcome(answer=_writable(read_answer(value, answer_names(self._spec.tools))))

    def failed(self, error: BaseException) -> Outcome:
        """The outcome of a trial whose agent raised this."""
        self._owner_only()
        if self._ended == self._begun:
            self._ended, self._cpu_ended = time.perf_counter(), _processor_time()
        return self._outcome(error=error)

    async def _answer(self, agent: BaseAgent, tools: list[Tool]) -> Any:
        self._clock(True)
        self._started_at = datetime.now(UTC)
        self._begun, self._cpu_begun = time.perf_counter(), _processor_time()
        try:
            agent.bind_tools(tools, server_url=self._spec.server_url)
            if inspect.iscoroutinefunction(agent.answer):
                return await agent.answer(self._spec.query)
            return await _settle(await asyncio.to_thread(self._blocking_answer, agent))
        finally:
            self._ended, self._cpu_ended = time.perf_counter(), _processor_time()
            self._owner_only()
            self._clock(False)

    def _blocking_answer(self, agent: BaseAgent) -> Any:
        value = agent.answer(self._spec.query)
        self._owner_only()
        return value

    def _outcome(self, answer: Answer | None = None, error: BaseException | None = None) -> Outcome:
        return Outcome(
            started_at=self._started_at,
            wall_time=self._ended - self._begun,
            answer=answer,
            failure=failure_of(error) if error else None,
            cpu_time=self._cpu_ended - self._cpu_begun,
        )


def _processor_time() -> float:
    """Processor seconds of this process so far, in all threads, and of the children that it has waited for."""
    spent = os.times()
    # The time of children is given in hundredths of a second.
    return time.process_time() + spent.children_user + spent.children_system


def _no_clock(running: bool) -> None:
    """Do nothing: the trial is not timed."""


def failure_of(error: BaseException) -> Failure:
    """The failure for an exception of an agent: its type and text, and the end of its traceback."""
    trace = "".join(traceback.format_exception(error))
    return Failure(
        kind=_kind(error),
        message=_clean(_text(error))[:MAX_MESSAGE],
        detail=_clean(trace)[-MAX_DETAIL:],
    )


def seed_random_state(seed: int) -> None:
    """Seed the global random states, which frameworks may use and trials must not share."""
    random.seed(seed)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(seed % 2**32)


def _writable(answer: Answer) -> Answer:
    """The answer as it can be sent.

    Raises:
        AnswerError: it cannot be written as JSON.
    """
    try:
        answer.model_dump_json()
    except (ValueError, RecursionError):
        return _clean_answer(answer)
    return answer


def _clean_answer(answer: Answer) -> Answer:
    try:
        cleaned = Answer.model_validate(_clean_texts(answer.model_dump()))
        cleaned.model_dump_json()
    except (ValueError, RecursionError) as error:
        raise AnswerError(f"answer: cannot be written as JSON: {error}") from error
    return cleaned


def _kind(error: BaseException) -> FailureKind:
    if isinstance(error, ModelFailed):
        return "model"
    if isinstance(error, AnswerError):
        return "answer"
    return "memory" if isinstance(error, MemoryError) else "agent"


def _text(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:  # noqa: BLE001 - an exception whose text cannot be read still has a type
        text = ""
    if isinstance(error, (ModelFailed, AnswerError)):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _clean(text: str) -> str:
    return redact(_clean_text(text))


def _clean_text(text: str) -> str:
    """The text with ``?`` for each lone surrogate, which JSON text cannot carry; models cut emoji in half."""
    return text.encode(errors="replace").decode()


def _clean_texts(value: Any) -> Any:
    """The JSON value with every text in it cleaned, keys too."""
    if isinstance(value, str):
        return _clean_text(value)
    if isinstance(value, dict):
        return {_clean_texts(key): _clean_texts(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_clean_texts(item) for item in value]
    return value


async def _close_after(agent: BaseAgent, error: BaseException) -> None:
    """Close an agent that failed; a further error becomes a note on the first."""
    try:
        await _settle(agent.close())
    except Exception as second:  # noqa: BLE001 - the first error is the one to report
        error.add_note(f"close() then raised {type(second).__name__}: {second}")


async def _settle(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value
