"""Counts requests that belong to no trial, and keeps the latest of them."""

from __future__ import annotations

from collections import deque
from typing import Any

from trialbed.records import ApiCall, ModelCall
from trialbed_server._clock import Clock
from trialbed_server.trials._put_in import PutIn
from trialbed_server.trials._trial import LogBudget, RecordedCall

KEPT = 100
"""Requests of each kind that are kept."""

UNTAGGED_BODY = 4096
"""Characters kept of one body of a request without a trial."""


class Untagged:
    """The requests that belong to no trial, on a server that was started alone.

    Attributes:
        model_requests, api_requests: how many there were.
        faults: those that are put in on purpose; None for none.
    """

    def __init__(self, clock: Clock, faults: PutIn | None = None) -> None:
        self.faults = faults
        self.model_requests = 0
        self.api_requests = 0
        self._clock = clock
        self._began = clock.monotonic()
        self._since = clock.utcnow()
        self._model_calls: deque[ModelCall] = deque(maxlen=KEPT)
        self._api_calls: deque[RecordedCall[ApiCall]] = deque(maxlen=KEPT)

    def elapsed(self) -> float:
        """Seconds since the server began."""
        return self._clock.monotonic() - self._began

    def budget(self) -> LogBudget:
        """The space for one request."""
        return LogBudget(body=UNTAGGED_BODY, trial=4 * UNTAGGED_BODY)

    def add_model_call(self, call: ModelCall) -> None:
        """A request to the model has ended."""
        self.model_requests += 1
        self._model_calls.append(call)

    def add_api_call(self, call: RecordedCall[ApiCall]) -> None:
        """A request to the virtual API was answered."""
        self.api_requests += 1
        self._api_calls.append(call)

    def document(self) -> dict[str, Any]:
        """The counts, and the latest requests as in a wire log; times are seconds since ``since``."""
        return {
            "since": self._since.isoformat(),
            "model_requests": self.model_requests,
            "api_requests": self.api_requests,
            "model_calls": [call.model_dump(mode="json") for call in self._model_calls],
            "api_calls": [call.record().model_dump(mode="json") for call in self._api_calls],
        }
