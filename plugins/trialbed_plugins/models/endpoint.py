"""The driver for models at an endpoint: ``--model NAME --base-url URL``, or ``--model NAME@URL``."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from urllib.parse import SplitResult, urlsplit

from trialbed.contracts import ModelDriver, ModelInfo, OpenedModel
from trialbed.errors import ServerUnavailable, TrialbedError, UsageError
from trialbed.settings import RunSettings, key_variable, secret_values
from trialbed.wire import parse_json, tls_for
from trialbed.wire.addresses import SCRIPT, is_loopback, split_address
from trialbed.wire.redaction import redact, shown_url
from trialbed_plugins.models._probe import probe

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
            f"{shown_url(base_url)}: its models cannot be listed: /models is answered with {answer.status_code}"
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
            needs = f"--base-url URL, and its key in {settings.api_key_env} where it asks for one"
            return ModelInfo(at_endpoint=True, costs=costs, needs=needs)
        variable = key_variable(settings, url)
        needs = f"a key in {variable}" if variable else f"--endpoint-key-env {parts.hostname}=VARIABLE"
        return ModelInfo(told_name=own, costs=costs, needs=f"{needs}, where the endpoint asks for one")

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
