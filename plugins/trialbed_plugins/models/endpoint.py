"""Models at endpoints: what is listed and known, and whether its calls are parsed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import SplitResult, urlsplit

from trialbed.contracts import ModelDriver, ModelInfo, OpenedModel
from trialbed.errors import ServerUnavailable, TrialbedError, UsageError
from trialbed.settings import RunSettings, key_variable, secret_values
from trialbed.suggestions import closest, did_you_mean
from trialbed.wire import ANSWERED, ChatClient, Reading, parse_json, tls_for, written_calls
from trialbed.wire.addresses import SCRIPT, is_loopback, split_address
from trialbed.wire.redaction import redact, shown_url

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


TIMEOUT = 10.0
"""Timeout for listing an endpoint's models."""

LARGEST = 8 * 2**20
"""Largest list, in bytes."""

LONGEST = 200
"""Longest name, in characters. Longer ones are skipped."""


def list_names(base_url: str, key: str | None) -> tuple[str, ...]:
    """Return the names in an endpoint's list, sorted.

    Raises:
        ServerUnavailable: it does not list its models; the message says why.
    """
    import httpx  # most commands need no client

    headers = {"Authorization": f"Bearer {key}"} if key else {}
    url, body = f"{base_url.rstrip('/')}/models", b""
    try:
        with (
            httpx.Client(timeout=TIMEOUT, verify=tls_for(base_url)) as client,
            client.stream("GET", url, headers=headers) as answer,
        ):
            for piece in answer.iter_bytes():
                body += piece
                if len(body) > LARGEST:
                    raise ServerUnavailable(f"{shown_url(base_url)}: its list of models has more than {LARGEST} bytes")
    except httpx.HTTPError as error:
        reason = redact(f"{type(error).__name__}: {error}", secret_values())
        raise ServerUnavailable(f"{shown_url(base_url)}: its models cannot be listed: {reason}") from error
    if answer.status_code != 200:
        raise ServerUnavailable(
            f"{shown_url(base_url)}: its models cannot be listed: /models answers with {answer.status_code}"
        )
    return tuple(sorted(_names(body, shown_url(base_url))))


def _names(body: bytes, url: str) -> set[str]:
    try:
        document = parse_json(body)
    except ValueError as error:
        raise ServerUnavailable(f"{url}: its list of models is not JSON: {error}") from error
    entries = document.get("data") if isinstance(document, dict) else None
    names = [entry.get("id") for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []
    return {name for name in names if isinstance(name, str) and 0 < len(name) <= LONGEST}


OPENAI = "api.openai.com"


class EndpointModels(ModelDriver):
    """Models of the run's endpoint (``--base-url``) or of one in their name. Names without a scheme use this driver.

    A key only goes to its own host, for any combination of endpoints in a run.
    """

    contract = "1"

    def names(self, settings: RunSettings) -> Sequence[str]:
        """Return the names that the endpoint lists; empty without an endpoint."""
        return list_names(settings.base_url, _key(settings)) if settings.base_url else ()

    def describe(self, name: str, settings: RunSettings) -> ModelInfo:
        """Describe the model by its address alone, without asking the endpoint.

        Raises:
            UsageError: the endpoint in its name is not an address, or contains a secret.
        """
        own, url = split_address(name)
        parts = urlsplit(settings.base_url or "") if url is None else _split_url(name, url)
        costs = False if parts.hostname and is_loopback(parts.hostname) else None
        if url is None:
            needs = f"--base-url URL, and its key in {settings.api_key_env} if it asks for one"
            return ModelInfo(at_endpoint=True, costs=costs, needs=needs)
        variable = key_variable(settings, url)
        needs = f"a key in {variable}" if variable else f"--endpoint-key-env {parts.hostname}=VARIABLE"
        return ModelInfo(told_name=own, costs=costs, needs=f"{needs}, if the endpoint asks for one")

    @asynccontextmanager
    async def open(self, name: str, settings: RunSettings) -> AsyncIterator[OpenedModel]:
        """Check that the endpoint knows the model and parses its calls."""
        own, url = split_address(name)
        url, key = url or settings.base_url, _key(settings, url)
        notes: tuple[str, ...] = ()
        if url and settings.probe:
            names = await _list(url, key)
            if names != (SCRIPT,):
                notes = await probe(own, names, settings, key, base_url=url)
        yield OpenedModel(model=own, base_url=url, api_key=key, notes=notes)


def _split_url(name: str, url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - raises ValueError if it is invalid
    except ValueError:
        parts = urlsplit("")
    if not parts.hostname:
        shown = f"{split_address(name)[0]}@{shown_url(url)}"
        raise UsageError(f"{shown!r:.200} does not end in an http(s) URL; give one such as https://{OPENAI}/v1")
    if parts.username is not None or parts.query or parts.fragment:
        raise UsageError(
            f"the endpoint at {parts.hostname} is given with a password, a query or a fragment, which would be stored; "
            f"give its address alone, and its key by --endpoint-key-env {parts.hostname}=VARIABLE"
        )
    return parts


async def _list(base_url: str, key: str | None) -> Sequence[str]:
    """Return the names that an endpoint lists. If it lists nothing, requests will show the problem."""
    try:
        return await asyncio.to_thread(list_names, base_url, key)
    except TrialbedError:
        return ()


def _key(settings: RunSettings, url: str | None = None) -> str | None:
    """Return the key of the endpoint in a model's name, or of the run's own endpoint."""
    variable = settings.api_key_env if url is None else key_variable(settings, url)
    return os.environ.get(variable) or None
