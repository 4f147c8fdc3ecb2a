"""Check before the first trial whether an endpoint knows the model and parses its calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from trialbed.errors import UsageError
from trialbed.settings import RunSettings
from trialbed.suggestions import closest, did_you_mean
from trialbed.wire import ANSWERED, ChatClient, Reading, written_calls

TOOL = "get_weather"
CITIES = ("Paris", "Lima", "Oslo", "Cairo", "Tokyo")
UNKNOWN = frozenset({"http_400", "http_404"})
"""The problems that mean an endpoint does not know a name."""

SHOWN = 10
"""Most names in an error."""


async def probe(
    name: str, listed: Sequence[str], settings: RunSettings, key: str | None, *, base_url: str
) -> tuple[str, ...]:
    """Ask the model for a call, and return advice for the user before trials cost time or money.

    An unreachable endpoint is not reported here, since the run waits for it.

    Args:
        listed: the endpoint's list of models; empty if it has no list.
        base_url: the endpoint's URL.

    Raises:
        UsageError: the endpoint rejects the name and does not list it.
    """
    readings = []
    async with ChatClient(base_url, key, timeout=settings.timeout, attempts=1) as client:
        for place in range(settings.probe):
            reading = await client.complete(_request(name, CITIES[place % len(CITIES)]))
            _check_known(name, listed, reading)
            readings.append(reading)
            if reading.outcome not in ANSWERED or reading.answer.calls:
                break
    missing = f"the endpoint does not list the model {name!r}{_hint(name, listed)}"
    notes = [missing] if listed and name not in listed else []
    return (*notes, *_parsing(name, readings))


def _check_known(name: str, listed: Sequence[str], reading: Reading) -> None:
    refused = reading.problem is not None and reading.problem.kind in UNKNOWN
    if refused and listed and name not in listed:
        raise UsageError(f"--model: the endpoint has no model {name!r}{_hint(name, listed)} It lists {_few(listed)}")


def _hint(name: str, listed: Sequence[str]) -> str:
    return did_you_mean(closest(name, listed))


def _few(listed: Sequence[str]) -> str:
    more = f" and {len(listed) - SHOWN} more: `bench models --base-url URL`" if len(listed) > SHOWN else ""
    return f"{', '.join(listed[:SHOWN])}{more}"


def _parsing(name: str, readings: Sequence[Reading]) -> tuple[str, ...]:
    """Return a warning if the model answered every time and no answer had a parsed call."""
    if not readings or any(reading.outcome not in ANSWERED or reading.answer.calls for reading in readings):
        return ()
    written = sum(bool(written_calls("\n".join(reading.answer.texts), {TOOL: {}})) for reading in readings)
    if not written:
        return (f"{name!r} called no tool in {len(readings)} requests that asked for one: it answered in words",)
    why = "which no framework makes: serve the model with a chat template whose calls the server parses"
    return (f"the template of {name!r} parses 0 of {len(readings)} calls: {written} came as text, {why}",)


def _request(name: str, city: str) -> Mapping[str, Any]:
    schema = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
    function = {"name": TOOL, "description": "Return the weather of a city as it is now.", "parameters": schema}
    text = f"What is the weather in {city} now? Call the tool {TOOL}."
    return {
        "model": name,
        "messages": [{"role": "user", "content": text}],
        "tools": [{"type": "function", "function": function}],
        "temperature": 0,
    }
