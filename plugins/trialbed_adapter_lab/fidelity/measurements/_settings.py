"""The settings of requests: those that were asked for, and others."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from trialbed.records import COMMON_NAME, Json, Record
from trialbed.wire.dialects import dialect
from trialbed_adapter_lab.fidelity.reading import body, is_same
from trialbed_adapter_lab.harness import Observed, WorkerHarness, stations

CALLS = 2
TEMPERATURE, SEED, MAX_TOKENS = 0.37, 4242, 321
"""Values that no framework has as its default."""

ALWAYS = frozenset({"messages", "input", "instructions", "system", "tools"})


class SentSetting(Record):
    """One setting.

    Attributes:
        name: in chat completions; other dialects may have another name for it.
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
        settings: those that the dialect of the requests has.
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
    asked = {"model": COMMON_NAME, "temperature": TEMPERATURE, "seed": SEED, "max_tokens": MAX_TOKENS}
    return settings_of((await harness.run(scenario)).require_success(), asked)


def settings_of(seen: Observed, asked: dict[str, Any]) -> Settings:
    """Return the settings of a trial's requests."""
    requests = [body(request) for request in seen.requests]
    names = {name: own for name in asked if (own := _own_name(name, seen.requests[0].dialect)) is not None}
    others = sorted({key for request in requests for key in request} - {*names.values()} - ALWAYS)
    return Settings(
        requests=len(requests),
        settings=tuple(_setting(name, asked[name], own, requests) for name, own in names.items()),
        others={key: _values(key, requests) for key in others},
    )


def _own_name(name: str, spoken: str) -> str | None:
    """Return a dialect's own name of a setting; None if it has no such setting."""
    mark = object()
    written = dialect(spoken).write_request("", (), {name: mark}) if name != "model" else {name: mark}
    return next((own for own, value in written.items() if value is mark), None)


def _setting(name: str, asked: Any, own: str, requests: Sequence[Mapping[str, Any]]) -> SentSetting:
    sent, absent = _values(own, requests), sum(own not in request for request in requests)
    honoured = not absent and len(sent) == 1 and is_same(asked, sent[0])
    return SentSetting(name=name, asked=asked, sent=sent, absent=absent, honoured=honoured)


def _values(key: str, requests: Sequence[Mapping[str, Any]]) -> tuple[Any, ...]:
    """Return every value of a field, each once, in order; ``1`` and ``true`` are two values."""
    found = {json.dumps(request[key]): request[key] for request in requests if key in request}
    return tuple(found.values())
