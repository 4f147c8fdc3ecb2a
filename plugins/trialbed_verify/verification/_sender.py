"""The cases of one target, from line to row."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any

from trialbed.chat import ANSWERED, Reading, first_choice, first_message
from trialbed.errors import DriverBroken, TrialbedError
from trialbed_verify.verification._lag import LagMeter
from trialbed_verify.verification._pacer import Pacer
from trialbed_verify.verification._retries import Breaker, RetryPolicy, VendorDown, VendorPaused
from trialbed_verify.verification.cases import CallVerdict, Case, SchemaChecker, declared_schemas
from trialbed_verify.verification.results import Ended, Row, result_row
from trialbed_verify.verification.targets import Target
from trialbed_verify.verification.wire import Attempt, Exchange, Prepared

Keep = Callable[[Row], None]
"""Takes the row of a case that has ended."""


@dataclass
class _Begun:
    """A case that has begun and may not have ended.

    Attributes:
        asked: when it asked to make its next attempt, on the loop's clock.
        waited: seconds before that, for a retry.
        queued: seconds that it waited while its vendor was only probed.
        first: when its first attempt was made: what it waited before is no time that the vendor was given.
    """

    asked: float
    waited: float = 0.0
    queued: float = 0.0
    first: float = 0.0
    attempts: list[Attempt] = field(default_factory=list)


class Sender:
    """Sends cases of one target, and hands over exactly one row of each."""

    def __init__(
        self,
        target: Target,
        exchange: Exchange,
        policy: RetryPolicy,
        breaker: Breaker,
        lag: LagMeter,
        pacer: Pacer,
    ) -> None:
        self._target = target
        self._exchange = exchange
        self._policy = policy
        self._breaker = breaker
        self._lag = lag
        self._pacer = pacer
        self._checker = SchemaChecker()
        self._preparation = target.preparation
        self._config = target.digest()
        self._paused: dict[tuple[int, int], _Begun] = {}
        self._clock = asyncio.get_running_loop().time

    @property
    def pause(self) -> float:
        """Seconds until the next case may be sent; 0 where the vendor is not left alone."""
        return self._breaker.pause

    def rehearse(self, case: Case) -> None:
        """Prepare a case and send nothing.

        Raises:
            DriverBroken, UsageError: the first request cannot be prepared.
        """
        self._prepared(case)

    async def send(self, case: Case, trial: int, keep: Keep) -> None:
        """Send a case until it has ended, and hand over its row, even if cancelled once the answer is there.

        Raises:
            VendorDown, VendorPaused: the vendor is left alone, for good or for now; the case was not sent, or goes on
                when it is sent again.
            DriverBroken: the driver of the vendor or of the model failed to prepare the request; nothing was sent.
        """
        async with self._pacer.turn():
            prepared = self._prepared(case)
        begun = await self._begin(case, trial, prepared)
        kept = False
        try:
            async with self._pacer.turn():
                kept = True
                keep(self._row(case, trial, prepared, begun))
        except asyncio.CancelledError:
            if not kept:
                keep(self._row(case, trial, prepared, begun))
            raise

    def _prepared(self, case: Case) -> Prepared:
        try:
            return self._preparation(case.body)
        except TrialbedError:
            raise
        except Exception as error:
            raise DriverBroken(
                f"{self._target.name}: line {case.index} could not be prepared for it by its driver or by the model "
                f"adapter {self._target.adapter_name!r}: {type(error).__name__}: {error}"
            ) from error

    def _row(self, case: Case, trial: int, prepared: Prepared, begun: _Begun) -> Row:
        attempts = begun.attempts
        reading = self._with_raw_calls(attempts[-1].reading)
        ended = Ended(
            case=case,
            trial=trial,
            prepared=prepared,
            attempts=attempts,
            reading=reading,
            verdicts=self._verdicts(reading, prepared),
            queued=begun.queued,
            lag=self._lag.since(self._clock() - attempts[-1].duration),
        )
        return result_row(self._target, self._config, ended)

    async def _begin(self, case: Case, trial: int, prepared: Prepared) -> _Begun:
        """Make a case's attempts, or go on with them where the vendor was left alone meanwhile."""
        begun = self._paused.pop((case.index, trial), None) or _Begun(asked=self._clock())
        try:
            await self._attempts(begun, prepared, declared_schemas(prepared.tools).keys())
        except VendorPaused:
            self._paused[case.index, trial] = begun
            raise
        return begun

    async def _attempts(self, begun: _Begun, prepared: Prepared, names: Collection[str]) -> None:
        attempts = begun.attempts
        while True:
            try:
                async with self._breaker.passage():
                    queue = self._clock() - begun.asked
                    attempts.append(await self._exchange(prepared, names, begun.waited + queue if attempts else 0.0))
                    self._breaker.note(attempts[-1])
            except VendorDown:
                if not attempts:
                    raise
                return
            begun.queued += queue
            if len(attempts) == 1:
                begun.first = begun.asked + queue
            wait = self._policy.wait(attempts[-1], len(attempts), self._clock() - begun.first)
            if wait is None:
                return
            await asyncio.sleep(wait)
            begun.waited, begun.asked = wait, self._clock()

    def _verdicts(self, reading: Reading, prepared: Prepared) -> tuple[CallVerdict, ...]:
        if reading.outcome not in ANSWERED:
            return ()
        calls = first_message(reading.response).get("tool_calls")
        return self._checker.verdicts(calls if isinstance(calls, list) else (), prepared.tools)

    def _with_raw_calls(self, reading: Reading) -> Reading:
        """A raw completion's calls stand in its text; find them, and let the finish reason say so."""
        if not self._target.settings.raw or reading.outcome not in ANSWERED or reading.response is None:
            return reading
        text = _text_of(reading.response)
        try:
            rest, calls = self._target.adapter.calls_of(text)
        except Exception:  # noqa: BLE001 - a driver of others must not cost an answer that was paid for
            return replace(reading, notes=(*reading.notes, "raw_calls_unreadable"))
        return _calling(reading, rest, calls) if calls else reading


def _text_of(response: dict[str, Any]) -> str:
    text = first_message(response).get("content") or first_choice(response).get("text")
    return text if isinstance(text, str) else ""


def _calling(reading: Reading, text: str, calls: list[dict[str, Any]]) -> Reading:
    """The answer with these calls in its first choice."""
    assert reading.response is not None  # noqa: S101 - an answer has one
    choice = first_choice(reading.response)
    message = {"role": "assistant", **first_message(reading.response), "content": text, "tool_calls": calls}
    changed = {**choice, "message": message, "finish_reason": "tool_calls"}
    choices = [changed if other is choice else other for other in reading.response["choices"]]
    whole = {**reading.response, "choices": choices}
    return replace(reading, outcome="tool_calls", finish_reason="tool_calls", response=whole)
