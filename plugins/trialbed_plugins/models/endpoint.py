"""The driver of models at an endpoint: ``--model NAME --base-url URL``."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

from trialbed.contracts import ModelDriver, ModelInfo, OpenedModel
from trialbed.errors import TrialbedError
from trialbed.settings import RunSettings
from trialbed.wire.addresses import is_loopback
from trialbed_plugins.models._listing import list_names
from trialbed_plugins.models._probe import probe


class EndpointModels(ModelDriver):
    """Models of the run's endpoint (``--base-url``), and the driver of every name without a scheme."""

    contract = "1"

    def names(self, settings: RunSettings) -> Sequence[str]:
        """The names that the endpoint lists; none where no endpoint is named."""
        return list_names(settings.base_url, _key(settings)) if settings.base_url else ()

    def describe(self, name: str, settings: RunSettings) -> ModelInfo:  # noqa: ARG002 - an endpoint knows its names
        """Describe the model by its address alone: the endpoint is not asked."""
        host = urlsplit(settings.base_url or "").hostname
        return ModelInfo(
            at_endpoint=True,
            costs=False if host and is_loopback(host) else None,
            needs=f"--base-url URL, and its key in {settings.api_key_env} where it asks for one",
        )

    @asynccontextmanager
    async def open(self, name: str, settings: RunSettings) -> AsyncIterator[OpenedModel]:
        """See that the endpoint knows the model, and parses its calls."""
        notes: tuple[str, ...] = ()
        if settings.base_url and settings.probe:
            names = await _list(settings.base_url, _key(settings))
            notes = await probe(name, names, settings, _key(settings), base_url=settings.base_url)
        yield OpenedModel(model=name, base_url=settings.base_url, api_key=_key(settings), notes=notes)


async def _list(base_url: str, key: str | None) -> Sequence[str]:
    """Return the names that an endpoint lists; none where it lists nothing, which its requests show soon enough."""
    try:
        return await asyncio.to_thread(list_names, base_url, key)
    except TrialbedError:
        return ()


def _key(settings: RunSettings) -> str | None:
    return os.environ.get(settings.api_key_env) or None
