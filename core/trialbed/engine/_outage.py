"""A run whose endpoint or server is out: what it says while it waits, and when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from trialbed.engine._classification import cause_of
from trialbed.engine._models import key_hint
from trialbed.errors import NothingMeasured, TrialbedError
from trialbed.records import EndpointStatus, Failure, TrialResult

KEY_REFUSED = frozenset({401, 403})
"""Statuses with which endpoints refuse a key, or the lack of one."""

LIMIT = 8
"""Number of trials in a row that may fail in this way before no more are begun."""

PARTIES = {"server": "Trialbed's server", "tool": "a tool of this program"}
"""Kind of failure -> whose it is; the endpoint's for others."""

INTERVAL = 5.0
"""Seconds between looks at the endpoint."""


class Outage:
    """Watches, at any time of a run, for an endpoint or a server that fails trial after trial.

    Until the model has answered any request, refusals count too: an endpoint that refuses everything says nothing
    about what a framework sends, but that the model's name, the address or a setting is wrong.

    Args:
        key_variable: the environment variable of the endpoint's key, for the advice where the endpoint refuses it.

    Attributes:
        told: whether any trial, or an earlier session of the run, has measured something.
    """

    def __init__(self, *, told: bool, key_variable: str) -> None:
        self.told = told
        self._key_variable = key_variable
        self._key_refused = False
        self._row = 0
        self._tried = 0
        self._last: Failure | None = None

    @property
    def over(self) -> bool:
        """Whether it is pointless to begin further trials."""
        return self._row >= LIMIT

    def note(self, result: TrialResult) -> None:
        """A trial has ended."""
        self._tried += 1
        self.told = self.told or _tells(result)
        if result.status == "not measured" or not self.told:
            self._row += 1
            self._last = result.outcome.failure
            self._key_refused = any(call.status in KEY_REFUSED for call in result.wire.model_calls)
        else:
            self._row = 0

    def check(self) -> None:
        """See whether the run has measured anything.

        Raises:
            NothingMeasured: it has not; gives the last trial's reason.
        """
        if self.told or self._last is None:
            return
        trials = "the one trial that was tried" if self._tried == 1 else f"all {self._tried} trials that were tried"
        advice = f"; {key_hint(self._key_variable)}" if self._key_refused else ""
        raise NothingMeasured(
            f"nothing could be measured: {trials} failed because of {_party(self._last)}: {self._last.message}{advice}"
        )


def _tells(result: TrialResult) -> bool:
    """Whether a trial says something about its framework, even if the endpoint refused everything that was sent."""
    if result.status == "not measured":
        return False
    if result.outcome.failure is None or result.outcome.failure.kind != "model":
        return True
    return any(cause_of(call) is None for call in result.wire.model_calls)


def _party(failure: Failure) -> str:
    return PARTIES.get(failure.kind, "the model's endpoint")


class EndpointWatch:
    """Looks at the models' endpoint now and then.

    Args:
        endpoint: gives its status.
        say: is given a line while requests wait and none is answered: at the second look that finds it so, then after
            twice as many each time.
        pause: sleeps.
    """

    def __init__(
        self,
        endpoint: Callable[[], Awaitable[EndpointStatus]],
        say: Callable[[str], None],
        pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._endpoint = endpoint
        self._say = say
        self._pause = pause
        self._answered = -1
        self._stuck = 0
        self._due = 1

    async def watch(self) -> None:
        """Look until cancelled; a server that does not answer is reported by the trials."""
        while True:
            await self._pause(INTERVAL)
            with suppress(TrialbedError):
                self._look(await self._endpoint())

    def _look(self, status: EndpointStatus) -> None:
        waits = status.waiting > 0 or status.state != "closed"
        self._stuck = self._stuck + 1 if waits and status.answered == self._answered else 0
        self._answered = status.answered
        if self._stuck >= self._due:
            self._say(_line(status))
            self._stuck, self._due = 0, 2 * self._due


def _line(status: EndpointStatus) -> str:
    requests = "1 request waits" if status.waiting == 1 else f"{status.waiting} requests wait"
    state = {"open": ", and others are held back", "down": ", and others fail at once"}.get(status.state, "")
    return f"waiting for the model's endpoint: {requests} to be repeated{state}; the last failure: {status.reason}"
