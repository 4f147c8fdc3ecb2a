"""The circuit breaker of an endpoint, and the rules that find the cause of a failure in the wire log."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from trialbed.records import Cause, CircuitState
from trialbed.wire import TRANSIENT, ModelRequest, lenient_json
from trialbed.wire.circuit import CircuitBreaker, CircuitOpen
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
