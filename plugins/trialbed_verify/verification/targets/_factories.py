"""Makes targets from options or from a configuration file."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from trialbed.contracts import VENDOR_CONTRACT, ModelAdapter, Vendor
from trialbed.drivers import list_drivers, load_driver
from trialbed.errors import DriverBroken, TrialbedError, UsageError
from trialbed_verify.verification.targets._config import VendorEntry, read_config
from trialbed_verify.verification.targets._endpoints import checked_url, proxy_for
from trialbed_verify.verification.targets._keys import (
    HEADER_NAME,
    checked_key,
    is_secret_header,
    key_from_file,
    key_variables,
    vendor_key,
    would_be_committed,
)
from trialbed_verify.verification.targets._preparation import RequestSettings
from trialbed_verify.verification.targets._targets import Target

UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


GENERIC = "generic"


def endpoint_target(
    base_url: str, api_key: str, settings: RequestSettings, model_type: str | None, output: Path, summary: Path
) -> Target:
    """Make the target of one endpoint, given by its URL.

    Raises:
        DriverError: the model adapter is not installed.
        UsageError: the URL or the key is not valid.
    """
    adapter_name, adapter = load_adapter(model_type, settings.model)
    vendor = Vendor(base_url=checked_url(base_url, "--base-url"))
    return Target(
        name=urlsplit(vendor.url).netloc,
        vendor=vendor,
        driver_name="",
        adapter=adapter,
        adapter_name=adapter_name,
        settings=settings,
        api_key=checked_key(api_key, "--api-key"),
        output=output,
        summary=summary,
        proxy=proxy_for(vendor.url),
    )


def config_targets(path: Path, settings: RequestSettings, model_type: str | None, folder: Path) -> list[Target]:
    """Make the targets of a configuration file, with their results in ``folder``.

    Vendors are ranked by their times too, which only streams have: requests that do not say it ask for one.

    Args:
        settings: for all targets; the model's name comes from each entry.

    Raises:
        DataError: the file has the wrong form.
        DriverError, UsageError: a vendor, a model adapter or a key is missing.
    """
    entries = read_config(path)
    vendors = Counter(entry.model for entry in entries)
    return [
        replace(
            _target(path, entry, settings, model_type, folder),
            is_repeated=entry.is_baseline and vendors[entry.model] > 1,
        )
        for entry in entries
    ]


def _target(path: Path, entry: VendorEntry, settings: RequestSettings, model_type: str | None, folder: Path) -> Target:
    adapter_name, adapter = load_adapter(model_type, entry.model)
    driver_name, vendor = _vendor(entry)
    provider = (entry.provider or "").strip("/")
    stem = UNSAFE.sub("_", "_".join(filter(None, (entry.model, entry.name, provider))))
    # The settings for all targets, and in their place those that the entry has itself.
    given = {name: getattr(entry, name) for name in ("temperature", "max_tokens", "stream")}
    own: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    own |= {"model": entry.model, "model_id": entry.model_id, "extra_body": {**settings.extra_body, **entry.extra_body}}
    return Target(
        name=f"{provider} ({entry.name})" if provider else entry.name,
        vendor=vendor,
        driver_name=driver_name,
        adapter=adapter,
        adapter_name=adapter_name,
        settings=replace(settings, streams_unsaid=True, **own),
        api_key=_key(path, entry, vendor),
        output=folder / f"{stem}_results.jsonl",
        summary=folder / f"{stem}_summary.json",
        proxy=proxy_for(vendor.url),
        headers=_headers(path, entry),
        prices={str(name): price for name, price in entry.prices.items()},
        **{name: getattr(entry, name) for name in ("is_baseline", "trials", "concurrency")},
    )


def _headers(path: Path, entry: VendorEntry) -> Mapping[str, str]:
    """The entry's headers.

    Raises:
        UsageError: one of them looks like a key, and git would commit the file; or a name is not valid.
    """
    where = f"{path}, line {entry.lines.get('headers')}: headers"
    for name, value in entry.headers.items():
        if HEADER_NAME.fullmatch(name) is None:
            raise UsageError(f"{where}: a name is not valid in HTTP")
        if is_secret_header(name) and value and would_be_committed(path):
            raise UsageError(f"{where}: {name} contains a key, and git does not ignore this file; add it to .gitignore")
    return entry.headers


def _vendor(entry: VendorEntry) -> tuple[str, Vendor]:
    """The vendor's driver, if one of this name is installed; otherwise a plain endpoint at the entry's URL."""
    known = entry.name in {driver.name for driver in list_drivers("vendors")}
    kind, driver = load_vendor(entry.name) if known else Vendor, f"{entry.where}: the driver of {entry.name}"
    try:
        vendor = kind(base_url=entry.url, provider=entry.provider)
        name = entry.model_id or vendor.model_id(entry.model)
    except TrialbedError:
        raise
    except Exception as error:
        raise DriverBroken(f"{driver} failed for {entry.model}: {type(error).__name__}: {error}") from error
    if not isinstance(name, str):
        raise DriverBroken(f"{driver} does not map {entry.model} to a string")
    if not vendor.url:
        hint = " (it publishes none)" if known else ", or install the vendor drivers, trialbed-vendors"
        raise UsageError(f"{entry.where}: the address of {entry.name} is not known; add its `url`{hint}")
    vendor.url = checked_url(vendor.url, f"{entry.where}: the url of {entry.name}")
    return (entry.name if known else ""), vendor


def _key(path: Path, entry: VendorEntry, vendor: Vendor) -> str:
    key = vendor_key(entry.name, vendor.key_variable, os.environ)
    if key is None and entry.api_key:
        key = key_from_file(path, entry.lines["api_key"], entry.api_key, entry.name)
    if key is None and any(map(is_secret_header, entry.headers)):
        return ""
    if key is None:
        names = ", ".join(key_variables(entry.name, vendor.key_variable))
        raise UsageError(
            f"{entry.where}: no key found for {entry.name}; put it into .env under one of these names: {names}"
        )
    return checked_key(key, f"{entry.where}: {entry.name}")


def load_vendor(name: str) -> type[Vendor]:
    """Load a vendor driver by name.

    Raises:
        DriverError: it is not installed or cannot be used.
    """
    loaded: type[Vendor] = load_driver("vendors", name, VENDOR_CONTRACT)
    return loaded


def load_adapter(name: str | None, model: str) -> tuple[str, ModelAdapter]:
    """Load a model adapter by name, or the one that recognises the model if the name is None.

    Raises:
        DriverError: it is not installed or cannot be used.
    """
    if name is None:
        others = (driver.name for driver in list_drivers("model_adapters") if driver.name != GENERIC)
        name = next((other for other in others if _adapter(other).recognises(model)), GENERIC)
    return name, _adapter(name)()


def _adapter(name: str) -> type[ModelAdapter]:
    loaded: type[ModelAdapter] = load_driver("model_adapters", name, VENDOR_CONTRACT)
    return loaded
