"""The settings of requests: those that were asked for, and others."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from trialbed.records import Json, Record
from trialbed_adapter_lab.fidelity.reading import body, is_same
from trialbed_adapter_lab.harness import Observed, WorkerHarness, stations

CALLS = 2
TEMPERATURE, SEED, MAX_TOKENS = 0.37, 4242, 321
"""Values that no framework has as its default."""

ALWAYS = frozenset({"messages", "tools"})


class SentSetting(Record):
    """One setting.

    Attributes:
        asked: the value that was asked for.
        sent: every value that was sent, each once.
        absent: requests without the setting.
        honoured: whether every request had the value asked for.
    """

    name: str
    asked: Json
    sent: tuple[Json, ...]
    absent: int
    honoured: bool


class Settings(Record):
    """The fields of the requests other than messages and tools.

    Attributes:
        others: fields that were not asked for -> every value they had, each once.
    """

    requests: int
    settings: tuple[SentSetting, ...]
    others: dict[str, tuple[Json, ...]]


async def measure_settings(harness: WorkerHarness, tools: int) -> Settings:
    """Ask for settings and read what arrives.

    Raises:
        NotMeasured: the trial failed, or a request cannot be read.
    """
    scenario = stations(tools, CALLS, temperature=TEMPERATURE, seed=SEED, max_tokens=MAX_TOKENS)
    asked = {"model": harness.model_name, "temperature": TEMPERATURE, "seed": SEED, "max_tokens": MAX_TOKENS}
    return settings_of((await harness.run(scenario)).require_success(), asked)


def settings_of(seen: Observed, asked: dict[str, Any]) -> Settings:
    """Return the settings of a trial's requests."""
    requests = [body(call) for call in seen.wire.model_calls]
    others = sorted({key for request in requests for key in request} - set(asked) - ALWAYS)
    return Settings(
        requests=len(requests),
        settings=tuple(_setting(name, value, requests) for name, value in asked.items()),
        others={key: _values(key, requests) for key in others},
    )


def _setting(name: str, asked: Any, requests: Sequence[Mapping[str, Any]]) -> SentSetting:
    sent, absent = _values(name, requests), sum(name not in request for request in requests)
    honoured = not absent and len(sent) == 1 and is_same(asked, sent[0])
    return SentSetting(name=name, asked=asked, sent=sent, absent=absent, honoured=honoured)


def _values(key: str, requests: Sequence[Mapping[str, Any]]) -> tuple[Any, ...]:
    """Return every value of a field, each once, in order; ``1`` and ``true`` are two values."""
    found = {json.dumps(request[key]): request[key] for request in requests if key in request}
    return tuple(found.values())
