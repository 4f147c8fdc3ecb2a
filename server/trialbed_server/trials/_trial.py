"""An open trial."""

from __future__ import annotations

from typing import Protocol, TypeVar

from trialbed.records import ApiCall, ModelCall, TrialRegistration, WireLog
from trialbed_server._clock import Clock
from trialbed_server.trials._log import LogBudget
from trialbed_server.virtual.catalog import Catalog

Call = TypeVar("Call", covariant=True)


class Recording(Protocol[Call]):
    """A request that is or was served for a trial."""

    def record(self) -> Call:
        """What is known of it now."""


class Trial:
    """A trial while it is open: its registration, its Apis, and what was seen of it, in order of arrival."""

    def __init__(self, registration: TrialRegistration, catalog: Catalog, clock: Clock) -> None:
        self.registration = registration
        self.catalog = catalog
        self.budget = LogBudget()
        self.opened_at = clock.utcnow()
        self.model_calls: list[Recording[ModelCall]] = []
        self.api_calls: list[Recording[ApiCall]] = []
        self._clock = clock
        self._opened = clock.monotonic()

    def elapsed(self) -> float:
        """Seconds since the trial was opened."""
        return self._clock.monotonic() - self._opened

    def wire_log(self) -> WireLog:
        """All that was seen; requests in flight as they stand."""
        return WireLog(
            trial=self.registration.trial,
            opened_at=self.opened_at,
            model_calls=tuple(call.record() for call in self.model_calls),
            api_calls=tuple(call.record() for call in self.api_calls),
        )
