"""Counters for ``/metrics``, in Prometheus' format."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, generate_latest


class Metrics:
    """Counts for one server.

    Args:
        open_trials: tells how many trials are open.
    """

    content_type = CONTENT_TYPE_LATEST

    def __init__(self, open_trials: Callable[[], int]) -> None:
        self._registry = CollectorRegistry()
        outcomes = Counter(
            "trialbed_virtual_requests", "Requests to the virtual API by outcome.", ["outcome"], registry=self._registry
        )
        self._hits = outcomes.labels("hit")
        self._misses = outcomes.labels("miss")
        self._errors = outcomes.labels("error")
        self._refused = outcomes.labels("refused")
        self._models = Counter(
            "trialbed_gateway_requests", "Requests to the gateway by status.", ["status"], registry=self._registry
        )
        trials = Gauge("trialbed_open_trials", "Trials that are open.", registry=self._registry)
        trials.set_function(open_trials)

    def hit(self) -> None:
        """An answer came from the cache."""
        self._hits.inc()

    def answered(self, provenance: str) -> None:
        """An answer was looked for; the provenance tells how it went."""
        if not provenance:
            self._errors.inc()
        elif provenance.startswith("cache:"):
            self._hits.inc()
        else:
            self._misses.inc()

    def refused(self) -> None:
        """A request was malformed, too large or of no open trial."""
        self._refused.inc()

    def model_request(self, status: int) -> None:
        """The gateway answered with this status, 0 if the client went away."""
        self._models.labels(str(status)).inc()

    def page(self) -> bytes:
        """The counters as a page."""
        return generate_latest(self._registry)
