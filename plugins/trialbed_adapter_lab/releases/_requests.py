"""The requests of one trial, kept whole, and its processor time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from trialbed.errors import TrialbedError
from trialbed.records import Environment, Json
from trialbed_adapter_lab.errors import NotMeasured
from trialbed_adapter_lab.fidelity.measurements import figure
from trialbed_adapter_lab.fidelity.reading import body, messages
from trialbed_adapter_lab.harness import Observed, WorkerHarness, open_worker_harness, stations
from trialbed_adapter_lab.releases._records import SentRequests

TOOLS, CALLS = 4, 3
"""On offer, and called one per turn; an answer follows."""

TRIALS = 5
"""Trials whose processor time is measured, after a first one that is not."""

CONVERSATIONS = ("messages", "input", "instructions", "system")
"""Fields of a request that are its conversation, in one dialect or another."""


async def measure_requests(labels: Sequence[str], environments: Mapping[str, Environment]) -> tuple[SentRequests, ...]:
    """Run the same trial with each label, and keep its requests.

    Raises:
        NothingMeasured: the server does not start.
    """
    async with open_worker_harness(environments) as (harness, workers), workers:
        return tuple([await _measure(replace(harness, framework=label)) for label in labels])


async def _measure(harness: WorkerHarness) -> SentRequests:
    label = harness.framework
    try:
        seen = (await harness.run(stations(TOOLS, CALLS))).require_success()
        again = [await harness.run(stations(TOOLS, CALLS)) for _ in range(TRIALS)]
        return SentRequests(framework=label, bodies=request_bodies(seen), cpu_ms=_cpu(again))
    except (NotMeasured, TrialbedError) as error:
        return SentRequests(framework=label, reason=str(error))


def _cpu(trials: Sequence[Observed]) -> Any:
    known = [trial.outcome.cpu_time for trial in trials if trial.outcome.cpu_time is not None]
    return figure([round(seconds * 1000, 3) for seconds in known])


def request_bodies(seen: Observed) -> tuple[Json, ...]:
    """Return the bodies of a trial's requests, the conversation first, with numbered ids.

    Raises:
        NotMeasured: a request cannot be read.
    """
    return tuple(_body(body(request)) for request in seen.requests)


def _body(document: Mapping[str, Any]) -> dict[str, Any]:
    others = {name: document[name] for name in sorted(document) if name not in CONVERSATIONS}
    return {"conversation": messages(document), **others}
