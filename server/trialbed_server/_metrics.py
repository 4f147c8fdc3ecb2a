"""Counters for ``/metrics``, in Prometheus' format."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import (
    CONTENT_TYPE_LATEST,
    CollectorRegistry,
    Counter,
    Gauge,
    disable_created_metrics,
    generate_latest,
)


class Metrics:
    """The counters of one server.

    Args:
        open_trials: returns the number of open trials.

    Attributes:
        virtual: requests to the virtual API.
        gateway: requests to the gateway; a client that went away has status 0.
        real: calls of the real API: ``answered`` or ``failed``.
        untagged: requests that belong to no trial, by what they asked: ``model`` or ``virtual``.
    """

    content_type = CONTENT_TYPE_LATEST

    def __init__(self, open_trials: Callable[[], int]) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # as the library has it
        self._registry = CollectorRegistry()
        self.virtual = self._counter("virtual_requests", "Requests to the virtual API by outcome.", "outcome")
        self.gateway = self._counter("gateway_requests", "Requests to the gateway by status.", "status")
        self.real = self._counter("real_requests", "Calls of the real API by outcome.", "outcome")
        self.untagged = self._counter("untagged_requests", "Requests without a trial.", "api")
        for outcome in ("hit", "miss", "error", "refused"):
            self.virtual.labels(outcome)
        Gauge("trialbed_open_trials", "Trials that are open.", registry=self._registry).set_function(open_trials)

    def answered(self, provenance: str) -> None:
        """Count an answer of the virtual API by its provenance, which an API error lacks."""
        found = "hit" if provenance.startswith("cache:") else "miss"
        self.virtual.labels(found if provenance else "error").inc()

    def refused(self) -> None:
        """Count a request to the virtual API that was malformed, too large or of no open trial."""
        self.virtual.labels("refused").inc()

    def page(self) -> bytes:
        """Return the counters as a page."""
        return generate_latest(self._registry)

    def _counter(self, name: str, text: str, label: str) -> Counter:
        return Counter(f"trialbed_{name}", text, [label], registry=self._registry)
