"""An open trial, and how much of its traffic is kept."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

from trialbed.records import ApiCall, Json, ModelCall, TrialRegistration, WireLog
from trialbed.spans import Span, covered
from trialbed_server._clock import Clock
from trialbed_server.virtual.catalog import Catalog

BODY_LIMIT = 2**20
"""Characters kept of one body."""

TRIAL_LIMIT = 64 * 2**20
"""Characters kept of all bodies of one trial together."""

Call = TypeVar("Call", covariant=True)


class Recording(Protocol[Call]):
    """A request that is or was served for a trial."""

    def record(self) -> Call:
        """The record so far."""


class ModelRecording(Recording[ModelCall], Protocol):
    """A request to the gateway that is or was served for a trial."""

    def waiting(self) -> Span:
        """When the gateway repeated the request after failures, or waited to do so; seconds on the trial's clock."""


class Trial:
    """A trial while it is open: its registration, its Apis, and what was seen of it, in order of arrival."""

    def __init__(self, registration: TrialRegistration, catalog: Catalog, clock: Clock) -> None:
        self.registration = registration
        self.catalog = catalog
        self.budget = LogBudget()
        self.tool_names = frozenset(tool.name for tool in registration.tools)
        self.opened_at = clock.utcnow()
        self.model_calls: list[ModelRecording] = []
        self.api_calls: list[Recording[ApiCall]] = []
        self._clock = clock
        self._opened = self._renewed = self._used = clock.monotonic()
        self._requests = 0
        self._steps = 0

    def timeout(self, default: float) -> float:
        """Seconds that the trial can take."""
        limits = self.registration.limits
        return default if limits is None else limits.timeout

    def take_step(self) -> bool:
        """Count a request to the model; False if the trial has had all that its limits allow."""
        limits = self.registration.limits
        if limits is not None and self._steps >= limits.max_steps:
            return False
        self._steps += 1
        return True

    def give_back_step(self) -> None:
        """Uncount a request that the model's endpoint did not answer."""
        self._steps -= 1

    def waited(self) -> float:
        """Seconds in which failed requests to the model were repeated, also while that goes on."""
        return covered(call.waiting() for call in self.model_calls)

    def elapsed(self) -> float:
        """Seconds since the trial was opened."""
        return self._clock.monotonic() - self._opened

    def renew(self) -> None:
        """The opener of the trial is still there."""
        self._renewed = self._clock.monotonic()

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """A request of the trial is being served."""
        self._requests += 1
        try:
            yield
        finally:
            self._requests -= 1
            self._used = self._clock.monotonic()

    def expires_in(self, idle: float) -> float:
        """Seconds until the trial is over because its opener is gone.

        Args:
            idle: seconds without a request or a renewal after which a trial without a lease is over.
        """
        now, lease = self._clock.monotonic(), self.registration.lease
        if lease is not None:
            return self._renewed + lease - now
        return idle if self._requests else max(self._used, self._renewed) + idle - now

    def wire_log(self) -> WireLog:
        """All that was seen; requests in flight as they stand."""
        return WireLog(
            trial=self.registration.trial,
            opened_at=self.opened_at,
            model_calls=tuple(call.record() for call in self.model_calls),
            api_calls=tuple(call.record() for call in self.api_calls),
        )


class LogBudget:
    """The space that is left for one trial's log. A body over its share is cut in the log, never on the wire."""

    def __init__(self, *, body: int = BODY_LIMIT, trial: int = TRIAL_LIMIT) -> None:
        self._body = body
        self._left = trial

    def keep(self, text: str) -> str:
        """The text if it fits, else its beginning and a marker that says how long it was."""
        text = _utf8(text)
        room = min(self._body, self._left)
        if len(text) > room:
            text = f"{text[:room]}…[cut: {room} of {len(text)} characters kept]"
        self._left = max(0, self._left - len(text))
        return text

    def keep_value(self, value: Json) -> Json:
        """The JSON value if it fits, else the beginning of its text and the marker."""
        if isinstance(value, str):
            return self.keep(value)
        text = json.dumps(value, ensure_ascii=False)
        clean = _utf8(text)
        kept = self.keep(clean)
        if kept != clean:
            return kept
        return value if clean == text else json.loads(clean)


def body_text(body: bytes) -> str:
    """A body as text; bytes that are not UTF-8 become U+FFFD."""
    return body.decode("utf-8", "replace")


def _utf8(text: str) -> str:
    # Escapes in JSON can name half a character, which no record can be written with.
    return text.encode("utf-8", "replace").decode()
