"""When requests are sent to an endpoint, by its circuit breaker, limits and capacity, and the causes of failures."""

from __future__ import annotations

import bisect
import re
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from math import inf
from typing import Literal

from trialbed.records import Cause, CircuitState
from trialbed.wire import TRANSIENT, ModelRequest, lenient_json
from trialbed.wire.circuit import Change, CircuitBreaker, CircuitOpen
from trialbed_server._clock import Clock

OVERLOADED = frozenset({503, 529})
"""Statuses of 5xx that say themselves that the endpoint has no capacity."""

KEY_REFUSED = frozenset({401, 402, 403, 407})
"""Statuses that concern the key and its account."""

PLAINLY_ASKED = frozenset({401, 403, 404, 405, 407, 410})
"""Statuses that a header, a path or a content of the request may be to blame for: a plain request shows it.

Not that an account has too little left (402), which is enough for a short request and not for a long one.
"""

NOT_SPOKEN = frozenset({404, 405, 501})
"""Statuses of endpoints that do not speak a dialect."""

READ = 2000
"""Bytes of an error's body that may say that a model is missing."""

_NO_MODEL = re.compile(
    rb"model_?not_?found|no such model|unknown model|not_found_error.{0,40}model:"
    rb"|models?\W.{0,120}?(?:not exist|not found|is unknown|no access|not be found)",
    re.IGNORECASE | re.DOTALL,
)

NOT_THERE = frozenset({404, 405, 410})
"""Statuses of a wrong address or model, which a framework can only have sent if others reach it."""


def cause_of_status(status: int, *, others_answered: bool, provoked: bool = False) -> Cause | None:
    """Return the cause for the last status of a request, after all its repetitions; None for a success.

    Args:
        provoked: whether the endpoint answered a plain request after every refusal.
        status: 0 if none came: no connection, or no answer.
        others_answered: whether the endpoint answered other requests; for a status of 5xx, such as are as far in their
            conversations, while every attempt of this one, and there were several, failed in this way.
    """
    if 200 <= status < 300:
        return None
    if provoked:
        return "request"
    if status < 400 or status in KEY_REFUSED | OVERLOADED:
        return "endpoint"
    if status >= 500 or status in NOT_THERE:
        return "request" if others_answered else "endpoint"
    return "endpoint" if status in TRANSIENT else "request"


def lacks_model(body: bytes) -> bool:
    """Return whether an error says, in the first bytes of its body, that the model is missing, and not the path."""
    return _NO_MODEL.search(body[:READ]) is not None


def blames_request(status: int) -> bool:
    """Return whether the request itself may cause a failure every time: a 5xx that is not overload."""
    return status >= 500 and status not in OVERLOADED


def repeats_a_broken_call(request: ModelRequest) -> bool:
    """Return whether the model made a call in the request's conversation with arguments that are not JSON.

    An answer that is cut at its limit of tokens ends in such a call. Some servers answer with 500 every time it is sent
    back to them.
    """
    made = [call.arguments for message in request.messages for call in message.calls if call.arguments]
    return any(lenient_json(arguments, arguments) is arguments for arguments in made)


def cause_of_problem(kind: str, code: object) -> Cause | None:
    """Return the cause for a response of status 2xx that is not an answer; None for an answer, even a malformed one.

    Args:
        kind: of the problem in the response's reading.
        code: of the error that the response reports, or None.
    """
    if kind in ("html", "empty_body", "empty_stream"):
        return "endpoint"
    if kind not in ("error_body", "error_event"):
        return None
    status = int(code) if isinstance(code, int | str) and str(code).isdecimal() and len(str(code)) == 3 else 503
    return cause_of_status(status, others_answered=False) or "endpoint"


REQUESTS = 2
"""Different requests that must be among the failures that open the circuit: a single one may be to blame itself."""

LONGEST_PROBE = 30.0

SLOWER = 2.0
"""Times longer than its slowest answer that an endpoint can be silent before that says something."""


class EndpointDown(Exception):
    """The endpoint is not asked, because it has failed for too long or this request cannot wait any longer."""


class Circuit(CircuitBreaker):
    """Hold requests back while an endpoint keeps failing.

    While the circuit is open, requests wait for a successful probe. If every probe fails for ``patience`` seconds, the
    endpoint is down: requests fail immediately, except for a probe now and then.

    Args:
        clock: the server's.
        patience: seconds from the opening to ``down``; with 0 it never opens.

    Attributes:
        answered: how many requests were answered, from beginning to end.
        reason: the last failure, in words.
    """

    def __init__(self, clock: Clock, patience: float) -> None:
        super().__init__(clock.monotonic, clock.sleep, longest=LONGEST_PROBE)
        self.answered = 0
        self.reason = ""
        self._patience = patience
        self._requests: set[bytes] = set()
        self._hopeless = True
        self._opened: float | None = None

    @property
    def state(self) -> CircuitState:
        """Return whether requests are sent (``closed``), wait (``open``) or fail (``down``)."""
        if not self.is_open:
            return "closed"
        return "down" if self._clock() >= self._given_up else "open"

    @property
    def _given_up(self) -> float:
        return (self._opened or 0.0) + (0.0 if self._hopeless else self._patience)

    @asynccontextmanager
    async def request(self, patience: float, on_wait: Callable[[], None]) -> AsyncIterator[bool]:
        """Wait until an attempt may be made; enter this for its duration. Yields whether it is a probe.

        Args:
            patience: seconds that this request can wait.
            on_wait: called before it waits.

        Raises:
            EndpointDown: it may not be made.
        """
        deadline = self._clock() + patience
        try:
            async with self.attempt(lambda: min(self._given_up, deadline), on_wait) as probe:
                yield probe
        except CircuitOpen:
            raise EndpointDown(self.reason) from None

    def completed(self, *, answered: bool) -> None:
        """Note that the endpoint works because it answered a request, or rejected one as wrong."""
        self.answered += answered
        self._requests.clear()
        self._hopeless = True
        self._opened = None
        self.succeeded()

    def refused(self, request: bytes, reason: str, *, asked: float | None = None, useless: bool = False) -> None:
        """An attempt failed for a reason that concerns the endpoint.

        Args:
            request: equal for equal requests.
            asked: the seconds that the endpoint asks to wait.
            useless: whether waiting does not help: the key is refused, or the address is wrong.
        """
        self.reason = reason
        self._requests.add(request)
        self._hopeless = self._hopeless and useless
        self.failed(asked=asked or 0.0, opens=self._patience > 0 and len(self._requests) >= REQUESTS)
        if self.is_open and self._opened is None:
            self._opened = self._clock()


class Liveness:
    """Tells a slow answer from an endpoint that no longer answers."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = float("-inf")
        self._slowest = 0.0

    def began(self, asked: float) -> None:
        """Note that a request that was sent at this time begins to be answered."""
        self._last = self._clock.monotonic()
        self._slowest = max(self._slowest, self._last - asked)

    def silent_since(self, asked: float) -> bool:
        """Return whether the endpoint has been silent since, for twice its slowest time to begin an answer."""
        return self._last <= asked and self._clock.monotonic() - asked > SLOWER * self._slowest


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
