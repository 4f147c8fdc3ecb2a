"""Ends a run if its endpoint or server is down and trial after trial fails."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from trialbed.engine._classification import cause_of
from trialbed.engine._progress import RunProgress
from trialbed.errors import NothingMeasured, TrialbedError
from trialbed.local_endpoint import OBJECT_FAILED
from trialbed.models import key_hint
from trialbed.records import EndpointStatus, Failure, TrialResult

KEY_REFUSED = frozenset({401, 403})
"""Statuses of endpoints that refuse a key, or the lack of one."""

LIMIT = 8
"""Number of trials in a row that may fail in this way before no more are begun."""

INTERVAL = 5.0
"""Seconds between two looks at the endpoint."""

PARTIES = {"server": "Trialbed's server", "tool": "a tool"}
"""Kind of failure -> the party at fault; the endpoint for other kinds."""


@dataclass(kw_only=True)
class Outage:
    """Watches, at any time of a run, for an endpoint or a server that fails trial after trial.

    Until the model has answered a request, refusals count too. If an endpoint refuses everything, the model's name, the
    address or a setting is wrong, not a framework's requests.

    Args:
        key_variable: the environment variable of the endpoint's key, for the advice if the endpoint refuses it.

    Attributes:
        measured: whether any trial, or an earlier session of the run, has measured something.
        spent: why the run's budget covers no further trial; empty while it may.
        gone: why there are no nodes for further trials; empty while there may be.
    """

    measured: bool
    key_variable: str
    models: Sequence[str] = ()
    spent: str = field(default="", init=False)
    gone: str = field(default="", init=False)
    _key_refused: bool = field(default=False, init=False)
    _row: int = field(default=0, init=False)
    _tried: int = field(default=0, init=False)
    _last: Failure | None = field(default=None, init=False)

    @property
    def over(self) -> bool:
        """Return whether it is pointless to begin further trials."""
        return self._row >= LIMIT or bool(self.spent or self.gone)

    def note(self, result: TrialResult) -> None:
        """Take note of a trial that has ended.

        A trial says nothing about the endpoint or the server if it left its recording or lost its node.
        """
        failure = result.outcome.failure
        kind = None if failure is None else failure.kind
        if kind == "lost":
            return
        if kind == "replay":
            self.measured = True
            return
        self._tried += 1
        self.measured = self.measured or _says_something(result)
        if result.status == "not measured" or not self.measured:
            self._row += 1
            self._last = failure
            self._key_refused = any(call.status in KEY_REFUSED for call in result.wire.model_calls)
        else:
            self._row = 0

    def check(self) -> None:
        """See whether the run has measured anything.

        Raises:
            NothingMeasured: it has not; gives the last trial's reason.
        """
        if not self.measured and self.gone:
            raise NothingMeasured(f"nothing could be measured: {self.gone}")
        if self.measured or self._last is None:
            return
        trials = "the one trial that was tried" if self._tried == 1 else f"all {self._tried} trials that were tried"
        advice = f"; {key_hint(self.key_variable, self.models)}" if self._key_refused else ""
        failed = self._last.message
        # A model that is an object has no endpoint that could be blamed.
        party = PARTIES.get(self._last.kind, "the model's endpoint")
        party = "" if OBJECT_FAILED.match(failed) else f" because of {party}"
        raise NothingMeasured(f"nothing could be measured: {trials} failed{party}: {failed}{advice}")


def _says_something(result: TrialResult) -> bool:
    """Return whether a trial says something about its framework, even if the endpoint refused every request."""
    if result.status == "not measured":
        return False
    if result.outcome.failure is None or result.outcome.failure.kind != "model":
        return True
    # A request for another model than the run's, or one that is refused while a plain one is not, says nothing of the
    # endpoint.
    return any(cause_of(call) is None or call.other_model or call.provoked for call in result.wire.model_calls)


async def watch_endpoint(
    endpoint: Callable[[], Awaitable[EndpointStatus]],
    progress: RunProgress,
    pause: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> None:
    """Look at the models' endpoint until cancelled; trials report a server that does not answer.

    Args:
        endpoint: gives its status.
        progress: is told at each look that the run goes on. It gets a note while requests wait and none is answered: at
            the second look that finds it so, then after twice as many each time.
        pause: sleeps.
    """
    answered, stuck, due = -1, 0, 1
    while True:
        await pause(INTERVAL)
        progress.goes_on()
        with suppress(TrialbedError):
            status = await endpoint()
            waits = status.waiting > 0 or status.held > 0 or status.state != "closed"
            stuck = stuck + 1 if waits and status.answered == answered else 0
            answered = status.answered
            if stuck >= due:
                progress.note(_waiting_line(status))
                stuck, due = 0, 2 * due


def _waiting_line(status: EndpointStatus) -> str:
    if not status.waiting and status.state == "closed":
        requests = "1 request waits for its turn" if status.held == 1 else f"{status.held} requests wait for their turn"
        return f"waiting for the model's endpoint: {requests}, by its own limits or --rpm and --tpm"
    requests = "1 request waits" if status.waiting == 1 else f"{status.waiting} requests wait"
    state = {"open": ", and others are held back", "down": ", and others fail at once"}.get(status.state, "")
    return f"waiting for the model's endpoint: {requests} to be repeated{state}; the last failure: {status.reason}"
