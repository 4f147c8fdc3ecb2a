"""Targets, and the options with which their cases are sent."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trialbed.contracts import ModelAdapter, Vendor
from trialbed.settings import REDACTED, is_secret, secret_values, store_file
from trialbed_verify.verification.targets._endpoints import Proxy
from trialbed_verify.verification.targets._keys import is_secret_header
from trialbed_verify.verification.targets._preparation import Preparation, RequestSettings

CHAT = "/chat/completions"
RAW = "/completions"


@dataclass(frozen=True, eq=False)
class Target:
    """A model at a vendor, and the files for its results.

    Attributes:
        name: the vendor's, as shown in results and tables.
        driver_name, adapter_name: names of the drivers, for the configuration's digest.
        api_key: never recorded; empty where ``headers`` hold the vendor's own key.
        is_baseline: whether the model's other vendors are compared with this one.
        is_repeated: whether it is such a baseline and has others, so that it is asked twice unless an option says more.
        proxy: between this machine and the vendor, if any.
        trials, concurrency: of this target; None for those of the options.
        headers: further ones for every request; they replace the driver's.
        prices: ``input`` and ``output``, per million tokens.
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
    is_repeated: bool = False
    proxy: Proxy | None = None
    trials: int | None = None
    concurrency: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    prices: Mapping[str, float] = field(default_factory=dict)

    @property
    def secrets(self) -> tuple[str, ...]:
        """Texts that must not be recorded: the key, the environment's secrets, secret headers and fields."""
        # The key alone, too, of a header such as "Token KEY".
        secret = (value for name, value in self.headers.items() if is_secret_header(name))
        headers = (part for value in secret for part in (value, *value.split()[-1:]))
        return self.api_key, *secret_values(), *headers, *_secret_fields(self.settings.extra_body)

    @property
    def url(self) -> str:
        """The URL to which requests are posted."""
        return f"{self.vendor.url}{RAW if self.settings.raw else CHAT}"

    @property
    def preparation(self) -> Preparation:
        """Prepares this target's requests."""
        return Preparation(self.settings, self.vendor, self.adapter)

    def configuration(self) -> dict[str, Any]:
        """Everything that answers of this target depend on, without secrets."""
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
            **({"streams_unsaid": True} if settings.streams_unsaid else {}),
            # Only where there are some, so that earlier results keep their configuration.
            **({"headers": self._shown_headers()} if self.headers else {}),
        }

    def _shown_headers(self) -> dict[str, str]:
        return {name: REDACTED if is_secret_header(name) else value for name, value in sorted(self.headers.items())}

    def digest(self) -> str:
        """SHA-256 of the configuration, hex; answers are reused only under the same one."""
        text = json.dumps(self.configuration(), sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()


def _secret_fields(value: Any, name: str = "") -> Iterator[str]:
    """Texts whose names look like those of keys, tokens and passwords."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _secret_fields(inner, str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from _secret_fields(inner, name)
    elif isinstance(value, str) and is_secret(name.replace("-", "_")):
        yield value


@dataclass(frozen=True)
class VerifyOptions:
    """Options for sending the cases.

    Attributes:
        trials: number of times that every case is sent to every target; None for two to a baseline and one to others.
        vendor_concurrency: targets served at a time; further ones take turns.
        request_concurrency: requests in flight at one target.
        timeout: seconds for one attempt, from first to last byte.
        retries: attempts after the first.
        incremental: go on with the last verification into the same files, finished or not, if its answers are of the
            same test set and configuration.
        fresh: discard the unfinished verification that the command would continue.
        store: where the verification is kept, a file or a database URL.
        tags, note: the user's names of the run.
    """

    trials: int | None = None
    vendor_concurrency: int = 1
    request_concurrency: int = 5
    timeout: float = 600.0
    retries: int = 3
    incremental: bool = False
    fresh: bool = False
    store: str = field(default_factory=store_file)
    tags: tuple[str, ...] = ()
    note: str | None = None

    def trials_of(self, target: Target) -> int:
        """Return the number of times that every case is sent to a target."""
        return target.trials or self.trials or 1 + target.is_repeated

    def concurrency_at(self, target: Target) -> int:
        """Return the number of requests that may be in flight at a target."""
        return target.concurrency or self.request_concurrency
