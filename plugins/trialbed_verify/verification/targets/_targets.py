"""What is verified: a model at a vendor."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trialbed.contracts import ModelAdapter, Vendor
from trialbed.secrets import is_secret, secret_values
from trialbed_verify.verification.targets._endpoints import Proxy
from trialbed_verify.verification.targets._preparation import Preparation, RequestSettings

CHAT = "/chat/completions"
RAW = "/completions"


@dataclass(frozen=True, eq=False)
class Target:
    """A model at a vendor, and where its results go.

    Attributes:
        name: the vendor's, as results and tables show it.
        driver_name, adapter_name: of the drivers, for the configuration's digest.
        api_key: never recorded.
        is_baseline: whether the others of its model are compared with it.
        proxy: between this machine and the vendor; None for none.
    """

    name: str
    vendor: Vendor
    driver_name: str
    adapter: ModelAdapter
    adapter_name: str
    settings: RequestSettings
    api_key: str
    output: Path
    summary: Path
    is_baseline: bool = False
    proxy: Proxy | None = None

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must not be recorded: the key, what the environment keeps secret, and secret fields of the body."""
        return self.api_key, *secret_values(), *_secret_fields(self.settings.extra_body)

    @property
    def url(self) -> str:
        """Where requests go."""
        return f"{self.vendor.url}{RAW if self.settings.raw else CHAT}"

    @property
    def preparation(self) -> Preparation:
        """What makes this target's requests."""
        return Preparation(self.settings, self.vendor, self.adapter)

    def configuration(self) -> dict[str, Any]:
        """All that decides what an answer of this target means; no secrets."""
        settings = self.settings
        return {
            "model": settings.model,
            "model_id": settings.model_id or self.vendor.model_id(settings.model),
            "base_url": self.vendor.url,
            "vendor": self.driver_name,
            "provider": self.vendor.provider,
            "model_adapter": self.adapter_name,
            "temperature": settings.temperature,
            "max_tokens": settings.max_tokens,
            "stream": settings.stream,
            "extra_body": settings.extra_body,
            "tokenizer": settings.tokenizer,
        }

    def digest(self) -> str:
        """SHA-256 of the configuration, hex; answers are used again only under the same one."""
        text = json.dumps(self.configuration(), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


def _secret_fields(value: Any, name: str = "") -> Iterator[str]:
    """Texts under names that look like those of keys, tokens and passwords."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _secret_fields(inner, str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from _secret_fields(inner, name)
    elif isinstance(value, str) and is_secret(name.replace("-", "_")):
        yield value
