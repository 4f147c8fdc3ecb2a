"""Pace the requests to an endpoint within its limits and its capacity."""

from __future__ import annotations

import bisect
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Literal

from trialbed.wire.circuit import Change
from trialbed_server._clock import Clock
from trialbed_server.gateway.circuit import OVERLOADED

Kind = Literal["requests", "tokens"]

MINUTE = 60.0

BUSY = OVERLOADED | {429}
"""Statuses that say that the endpoint was asked for too much at a time."""

FIRST = -1
"""The place in the order of arrival of a request that goes before all others."""


@dataclass
class Charge:
    """A request's part of a limit, and the time when it was sent."""

    amount: float
    at: float


@dataclass
class PacedTurn:
    """The turn of one attempt at a request.

    Attributes:
        number: in the order of turns.
        held: seconds that it was waited for.
        spent: its part of the limits.
        void: whether the request may not be sent after all.
    """

    number: int
    held: float
    spent: Mapping[Kind, Charge]
    void: bool = False


class Window:
    """Bounds what requests take together in any minute.

    Args:
        most: the bound; what takes more than that alone has a minute for itself.
    """

    def __init__(self, most: float) -> None:
        self._most = most
        self._sent: deque[Charge] = deque()

    def wait(self, amount: float, now: float) -> float:
        """Return the seconds until this amount can be taken."""
        while self._sent and self._sent[0].at <= now - MINUTE:
            self._sent.popleft()
        over = sum(spent.amount for spent in self._sent) + min(amount, self._most) - self._most
        for spent in self._sent if over > 0 else ():
            over -= spent.amount
            if over <= 0:
                return spent.at + MINUTE - now
        return 0.0

    def take(self, amount: float, now: float) -> Charge:
        """Take this amount, for a request that is sent now."""
        self._sent.append(Charge(amount, now))
        return self._sent[-1]


class Pace:
    """Gives requests their turns, in the order of their arrival.

    A turn comes when a limit per minute leaves room, and when fewer requests are on their way than the endpoint bears:
    half as many as there were when it refused one for want of capacity, and one more each time that this many are
    answered (AIMD: D.-M. Chiu and R. Jain, Computer Networks and ISDN Systems 17 (1989), 1-14). If it never refuses,
    any number may be on their way.

    Args:
        requests, tokens: the limits of a minute; None for no limit.
        patience: seconds of the longest wait that the endpoint may ask for; with 0, its refusals change nothing.
    """

    def __init__(
        self, clock: Clock, *, requests: int | None = None, tokens: int | None = None, patience: float = inf
    ) -> None:
        self._clock = clock
        self._patience = patience
        given: dict[Kind, int | None] = {"requests": requests, "tokens": tokens}
        self._windows: dict[Kind, Window] = {kind: Window(most) for kind, most in given.items() if most is not None}
        self._change = Change(clock.sleep)
        self._waiting: list[int] = []
        self._in_flight = 0
        self._limit = inf
        self._turns = 0
        self._cut = 0
        self._paused = -inf

    @property
    def in_line(self) -> int:
        """The requests that wait for their turns."""
        return len(self._waiting)

    @property
    def limit(self) -> int | None:
        """The most requests in flight at a time; None for any number."""
        return None if self._limit == inf else max(1, int(self._limit))

    @property
    def counts_tokens(self) -> bool:
        """Return whether the tokens of answers matter."""
        return "tokens" in self._windows

    def is_full(self, tokens: float) -> bool:
        """Return whether the limits leave no room now for a request of this many tokens."""
        return self._room_in({"requests": 1.0, "tokens": tokens}) > 0

    def note_refusal(self, turn: PacedTurn, status: int, asked: float | None) -> None:
        """The endpoint refused a request.

        Args:
            asked: the seconds of its ``Retry-After``.
        """
        self.set_tokens(turn, 0)
        if status not in BUSY or not self._patience:
            return
        if turn.number > self._cut:
            # Requests sent before the last cut say nothing about the time after it.
            self._limit, self._cut = max(1.0, self._in_flight / 2), self._turns
        if asked and asked <= self._patience:
            self._paused = max(self._paused, self._clock.monotonic() + asked)

    def note_answer(self) -> None:
        """Note that the endpoint answered a request; its turn has not ended yet."""
        if self.limit is not None and self._in_flight >= self.limit:
            self._limit += 1 / self._limit

    def set_tokens(self, turn: PacedTurn, tokens: int) -> None:
        """Set the tokens that a request took."""
        if "tokens" in turn.spent:
            turn.spent["tokens"].amount = tokens

    @asynccontextmanager
    async def turn(
        self, arrival: int, tokens: float, on_wait: Callable[[], None], may_go: Callable[[], bool] = lambda: True
    ) -> AsyncIterator[PacedTurn]:
        """Wait for the turn of an attempt, which must be made immediately; enter this for its duration.

        Args:
            arrival: the request's place in the order of arrival.
            tokens: an estimate of its tokens.
            on_wait: called before it waits.
            may_go: asked when the turn has come; if it returns False, nothing is charged.
        """
        needs: dict[Kind, float] = {"requests": 1.0, "tokens": tokens}
        asked = self._clock.monotonic()
        await self._admit(arrival, partial(self._seconds, needs), on_wait)
        if not may_go():
            yield PacedTurn(0, self._clock.monotonic() - asked, {}, void=True)
            return
        self._in_flight += 1
        self._turns += 1
        try:
            yield PacedTurn(self._turns, self._clock.monotonic() - asked, self._charge(needs))
        finally:
            self._in_flight -= 1
            self._change.notify()

    async def pass_by(self, tokens: float) -> None:
        """Wait until a request may be sent within the turn of another one, and charge it.

        It goes before all that wait for turns. How many are on their way is bounded by the other's turn.
        """
        needs: dict[Kind, float] = {"requests": 1.0, "tokens": tokens}
        await self._admit(FIRST, partial(self._room_in, needs), lambda: None)
        self._charge(needs)

    def _charge(self, needs: Mapping[Kind, float]) -> Mapping[Kind, Charge]:
        now = self._clock.monotonic()
        return {kind: window.take(needs[kind], now) for kind, window in self._windows.items()}

    async def _admit(self, arrival: int, wait: Callable[[], float], on_wait: Callable[[], None]) -> None:
        """Wait until a request is the first in line, and its wait is 0."""
        bisect.insort(self._waiting, arrival)
        try:
            while (seconds := wait() if self._waiting[0] == arrival else inf) > 0:
                on_wait()
                await self._change.wait(seconds)
        finally:
            self._waiting.remove(arrival)
            if self._waiting:
                self._change.notify()

    def _seconds(self, needs: Mapping[Kind, float]) -> float:
        """Return the seconds until the next request may be sent; infinite if another one must end first."""
        if self._in_flight >= (self.limit or inf):
            return inf
        return self._room_in(needs)

    def _room_in(self, needs: Mapping[Kind, float]) -> float:
        """Return the seconds after which the limits leave room for a request."""
        now = self._clock.monotonic()
        return max(0.0, self._paused - now, *(window.wait(needs[kind], now) for kind, window in self._windows.items()))
