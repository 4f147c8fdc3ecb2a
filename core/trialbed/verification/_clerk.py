"""The cases of one target, from line to row."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from dataclasses import replace

from trialbed.verification._cases import Case
from trialbed.verification._desk import Desk
from trialbed.verification._exchange import Attempt, Exchange
from trialbed.verification._lag import LagMeter
from trialbed.verification._outcomes import ANSWERED, Reading
from trialbed.verification._requests import Prepared
from trialbed.verification._results import Ended, Row, first_message, result_row
from trialbed.verification._retries import Breaker, RetryPolicy
from trialbed.verification._schemas import CallVerdict, SchemaChecker, declared_schemas
from trialbed.verification._targets import Target


class Clerk:
    """Sends cases of one target, and gives each exactly one row."""

    def __init__(
        self,
        target: Target,
        exchange: Exchange,
        policy: RetryPolicy,
        breaker: Breaker,
        lag: LagMeter,
        desk: Desk,
    ) -> None:
        self._target = target
        self._exchange = exchange
        self._policy = policy
        self._breaker = breaker
        self._lag = lag
        self._desk = desk
        self._checker = SchemaChecker()
        self._prepare = target.preparation
        self._config = target.digest()
        self._clock = asyncio.get_running_loop().time

    async def row(self, case: Case, trial: int) -> Row:
        """Send a case until it has ended.

        Raises:
            VendorDown: the vendor is left alone; the case was not sent.
        """
        async with self._desk.turn():
            prepared = self._prepare(case.body)
        begun = self._clock()
        async with self._breaker.passage():
            queued = self._clock() - begun
            attempts = await self._attempts(prepared, declared_schemas(prepared.tools).keys())
        async with self._desk.turn():
            return self._row(case, trial, prepared, attempts, queued)

    def _row(self, case: Case, trial: int, prepared: Prepared, attempts: list[Attempt], queued: float) -> Row:
        reading = self._with_raw_calls(attempts[-1].reading)
        ended = Ended(
            case=case,
            trial=trial,
            prepared=prepared,
            attempts=attempts,
            reading=reading,
            verdicts=self._verdicts(reading, prepared),
            queued=queued,
            lag=self._lag.since(self._clock() - attempts[-1].duration),
        )
        return result_row(self._target, self._config, ended)

    async def _attempts(self, prepared: Prepared, names: Collection[str]) -> list[Attempt]:
        begun = self._clock()
        attempts: list[Attempt] = []
        waited: float | None = 0.0
        while waited is not None:
            await asyncio.sleep(waited)
            attempts.append(await self._exchange(prepared, names, waited))
            self._breaker.note(attempts[-1])
            waited = self._policy.wait(attempts[-1], len(attempts), self._clock() - begun)
        return attempts

    def _verdicts(self, reading: Reading, prepared: Prepared) -> tuple[CallVerdict, ...]:
        if reading.outcome not in ANSWERED:
            return ()
        calls = first_message(reading.response).get("tool_calls")
        return self._checker.verdicts(calls if isinstance(calls, list) else (), prepared.tools)

    def _with_raw_calls(self, reading: Reading) -> Reading:
        """A raw completion's calls stand in its text; find them, and let the finish reason say so."""
        response = reading.response
        if not self._target.settings.raw or reading.outcome not in ANSWERED or response is None:
            return reading
        choice = response["choices"][0]
        message = choice.get("message") or {"role": "assistant", "content": choice.get("text") or ""}
        text, calls = self._target.adapter.calls_of(message.get("content") or "")
        if not calls:
            return reading
        read = {**choice, "message": {**message, "content": text, "tool_calls": calls}, "finish_reason": "tool_calls"}
        whole = {**response, "choices": [read, *response["choices"][1:]]}
        return replace(reading, outcome="tool_calls", finish_reason="tool_calls", response=whole)
