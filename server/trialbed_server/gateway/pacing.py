"""The pace at which the gateway asks an endpoint: within its limits, and as much at a time as it bears."""

from __future__ import annotations

import bisect
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from math import inf, isfinite
from typing import Literal, get_args

from trialbed.wire.circuit import Change
from trialbed_server._clock import Clock
from trialbed_server.gateway.circuit import OVERLOADED

Kind = Literal["requests", "tokens"]

FORMS = ("x-ratelimit-{part}-{kind}", "anthropic-ratelimit-{kind}-{part}")
"""The names of the headers: those of OpenAI and the vendors that follow it, and Anthropic's."""

LONGEST = 40
"""Characters of a value."""

DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?(?:(\d+(?:\.\d+)?)ms)?", re.ASCII)
SECONDS = (3600.0, 60.0, 1.0, 0.001)


@dataclass(frozen=True)
class Rate:
    """One limit of an endpoint.

    Attributes:
        left: the rest of it.
        full: all of it; infinite where that is not said.
        seconds: until all of it is there again.
    """

    left: float
    full: float
    seconds: float


def read_rates(headers: Mapping[str, str], now: datetime) -> dict[Kind, Rate]:
    """Read the limits in an answer's headers that say how much is left, and until when.

    Args:
        headers: upper and lower case must not matter in their names.
        now: the time from which dates count.
    """
    found: dict[Kind, Rate] = {}
    for kind in get_args(Kind):
        for form in FORMS:
            names = [form.format(part=part, kind=kind) for part in ("remaining", "limit", "reset")]
            left, full, reset = (headers.get(name, "").strip()[: LONGEST + 1] for name in names)
            amount, seconds = _number(left), _seconds(reset, now)
            if amount is not None and seconds is not None:
                found[kind] = Rate(amount, _number(full) or inf, seconds)
    return found


def _number(text: str) -> float | None:
    try:
        number = float(text) if len(text) <= LONGEST else inf
    except ValueError:
        return None
    return max(0.0, number) if isfinite(number) else None


def _seconds(text: str, now: datetime) -> float | None:
    """Read a time as endpoints write it: ``6m0s``, ``120ms``, a number of seconds, or a date in ISO 8601."""
    if len(text) > LONGEST or not text:
        return None
    number = _number(text)
    if number is not None:
        return number
    parts = DURATION.fullmatch(text)
    if parts:
        return sum(float(part) * unit for part, unit in zip(parts.groups(), SECONDS, strict=True) if part)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - now).total_seconds())


MINUTE = 60.0

BUSY = OVERLOADED | {429}
"""Statuses that say that the endpoint was asked for too much at a time."""

FIRST = -1
"""The place in the order of arrival of a request that goes before all others."""


@dataclass
class Charge:
    """A part of a limit that a request takes, and the time at which it was sent."""

    amount: float
    at: float


@dataclass
class PacedTurn:
    """The turn of one attempt at a request.

    Attributes:
        number: in the order of turns.
        held: seconds that it was waited for.
        spent: its part of the limits.
        before: all that had been sent, with it.
        void: whether the request may not be sent after all.
    """

    number: int
    held: float
    spent: Mapping[Kind, Charge]
    before: Mapping[Kind, float]
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


@dataclass
class RemainingLimit:
    """The rest of a limit, as the endpoint's headers state it.

    Attributes:
        amount: at a time; less with each request that is sent.
        per_second: how much it regains; 0 where that is not known.
        renewed: when all of it is there again.
        full: all of it; infinite where that is not known.
    """

    amount: float
    at: float
    per_second: float
    renewed: float
    full: float

    def wait(self, amount: float, now: float) -> float:
        """Return the seconds until this amount is there."""
        missing = min(amount, self.full) - self.amount - self.per_second * (now - self.at)
        if missing <= 0 or now >= self.renewed:
            return 0.0
        return missing / self.per_second if self.per_second else self.renewed - now


class Pace:
    """Gives requests their turns, in the order of their arrival.

    A turn comes when a limit per minute leaves room, when the endpoint has as much left as it last said, and when fewer
    requests are on their way than it bears: half as many as there were when it refused one for want of capacity, and
    one more each time that so many are answered (AIMD: D.-M. Chiu and R. Jain, Computer Networks and ISDN Systems 17
    (1989), 1-14). Where it never refuses, any number may be on their way.

    Args:
        requests, tokens: the limits of a minute; None for none.
        patience: seconds of the longest wait that the endpoint may ask for; with 0, its refusals change nothing.
    """

    def __init__(
        self, clock: Clock, *, requests: int | None = None, tokens: int | None = None, patience: float = inf
    ) -> None:
        self._clock = clock
        self._patience = patience
        given: dict[Kind, int | None] = {"requests": requests, "tokens": tokens}
        self._windows: dict[Kind, Window] = {kind: Window(most) for kind, most in given.items() if most is not None}
        self._left: dict[Kind, RemainingLimit] = {}
        self._change = Change(clock.sleep)
        self._waiting: list[int] = []
        self._in_flight = 0
        self._limit = inf
        self._turns = 0
        self._cut = 0
        self._paused = -inf
        self._sent: dict[Kind, float] = {"requests": 0.0, "tokens": 0.0}

    @property
    def in_line(self) -> int:
        """The requests that wait for their turns."""
        return len(self._waiting)

    @property
    def limit(self) -> int | None:
        """How many requests may be in flight at a time; None for any number."""
        return None if self._limit == inf else max(1, int(self._limit))

    @property
    def counts_tokens(self) -> bool:
        """Return whether the tokens of answers matter."""
        return "tokens" in self._windows

    def is_full(self, tokens: float) -> bool:
        """Return whether the limits leave no room now for a request of this many tokens."""
        return self._room_in({"requests": 1.0, "tokens": tokens}) > 0

    def note_headers(self, turn: PacedTurn, headers: Mapping[str, str]) -> None:
        """Read the endpoint's limits in an answer's headers."""
        for kind, rate in read_rates(headers, self._clock.utcnow()).items():
            since = self._sent[kind] - turn.before[kind]
            self._left[kind] = _remaining(rate, since, self._clock.monotonic())

    def note_refusal(self, turn: PacedTurn, status: int, asked: float | None) -> None:
        """The endpoint refused a request.

        Args:
            asked: the seconds of its ``Retry-After``.
        """
        self.set_tokens(turn, 0)
        if status not in BUSY or not self._patience:
            return
        if turn.number > self._cut:
            # Those that were sent before the last cut say nothing of what came after it.
            self._limit, self._cut = max(1.0, self._in_flight / 2), self._turns
        if asked and asked <= self._patience:
            self._paused = max(self._paused, self._clock.monotonic() + asked)

    def note_answer(self) -> None:
        """The endpoint answered a request, whose turn has not ended yet."""
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
        """Wait for the turn of an attempt, which must be made at once; enter this for its duration.

        Args:
            arrival: the request's place in the order of arrival.
            tokens: as many as it is thought to take.
            on_wait: called before it waits.
            may_go: asked when the turn has come; where it may not go, nothing of the limits is taken.
        """
        needs: dict[Kind, float] = {"requests": 1.0, "tokens": tokens}
        asked = self._clock.monotonic()
        await self._admit(arrival, partial(self._seconds, needs), on_wait)
        if not may_go():
            yield PacedTurn(0, self._clock.monotonic() - asked, {}, {}, void=True)
            return
        try:
            yield self._take(needs, asked)
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

    def _take(self, needs: Mapping[Kind, float], asked: float) -> PacedTurn:
        self._in_flight += 1
        self._turns += 1
        spent = self._charge(needs)
        return PacedTurn(self._turns, self._clock.monotonic() - asked, spent, dict(self._sent))

    def _charge(self, needs: Mapping[Kind, float]) -> Mapping[Kind, Charge]:
        """Charge a request that is sent now."""
        for kind, need in needs.items():
            self._sent[kind] += need
            if kind in self._left:
                self._left[kind].amount -= need
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
        told = [wait for kind, left in self._left.items() if (wait := left.wait(needs[kind], now)) <= self._patience]
        own = [window.wait(needs[kind], now) for kind, window in self._windows.items()]
        return max(0.0, self._paused - now, *told, *own)


def _remaining(rate: Rate, since: float, now: float) -> RemainingLimit:
    """Return what is left by an answer's headers.

    Args:
        since: the amount that was sent after its request, which the endpoint had not counted.
    """
    gone = rate.full - rate.left
    per_second = gone / rate.seconds if rate.seconds and gone < inf else 0.0
    return RemainingLimit(rate.left - since, now, per_second, now + rate.seconds, rate.full)
