"""Counters for ``/metrics``, in Prometheus' format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector


class Metrics(Collector):
    """The counters of one server. They belong to its event loop, so that counting needs no lock.

    Args:
        open_trials: returns the number of open trials.
        untagged: returns how many requests had no trial, to the model and to the virtual API.
    """

    content_type = CONTENT_TYPE_LATEST

    def __init__(self, open_trials: Callable[[], int], untagged: Callable[[], tuple[int, int]]) -> None:
        self._open_trials = open_trials
        self._untagged = untagged
        self._outcomes = Counter({"hit": 0, "miss": 0, "error": 0, "refused": 0})
        self._statuses: Counter[int] = Counter()
        self._real: Counter[str] = Counter()
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def answered(self, provenance: str) -> None:
        """Count a look-up of an answer by its provenance."""
        if not provenance:
            self._outcomes["error"] += 1
        else:
            self._outcomes["hit" if provenance.startswith("cache:") else "miss"] += 1

    def refused(self) -> None:
        """A request was malformed, too large or of no open trial."""
        self._outcomes["refused"] += 1

    def model_request(self, status: int) -> None:
        """The gateway answered with this status, 0 if the client went away."""
        self._statuses[status] += 1

    def real_request(self, outcome: str) -> None:
        """The real API was asked: ``answered`` or ``failed``."""
        self._real[outcome] += 1

    def page(self) -> bytes:
        """The counters as a page."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Yield the counters in the form of the client library."""
        yield _counter("virtual_requests", "Requests to the virtual API by outcome.", "outcome", self._outcomes)
        yield _counter("gateway_requests", "Requests to the gateway by status.", "status", self._statuses)
        yield _counter("real_requests", "Calls of the real API by outcome.", "outcome", self._real)
        untagged = dict(zip(("model", "virtual"), self._untagged(), strict=True))
        yield _counter("untagged_requests", "Requests without a trial.", "api", untagged)
        yield GaugeMetricFamily("trialbed_open_trials", "Trials that are open.", self._open_trials())


def _counter(name: str, text: str, label: str, counts: Mapping[Any, int]) -> Metric:
    """Return a counter with a value for each label."""
    family = CounterMetricFamily(f"trialbed_{name}", text, labels=[label])
    for value, count in counts.items():
        family.add_metric([str(value)], count)
    return family
