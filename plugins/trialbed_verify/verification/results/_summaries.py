"""The summary of one target: a JSON file next to its results."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any

from trialbed.drivers import driver_info
from trialbed.files import replacing
from trialbed.records import EndpointInfo
from trialbed_verify.verification.cases import TestSet
from trialbed_verify.verification.results._records import EndpointSummary, TokenCost
from trialbed_verify.verification.results._redaction import RowRedaction
from trialbed_verify.verification.results._tally import Tally
from trialbed_verify.verification.targets import Target, VerifyOptions

MILLION = 1_000_000
"""Tokens to which a price applies."""


def endpoint_info(target: Target, label: str, cases: TestSet, options: VerifyOptions) -> EndpointInfo:
    """Describe a target for its run before anything was sent to it, without secrets."""
    info = EndpointInfo(
        label=label,
        model=target.settings.model,
        vendor=target.name,
        is_baseline=target.is_baseline,
        trials=options.trials_of(target),
        configuration=target.digest(),
        provenance=provenance(target, cases, options),
        prices=dict(target.prices),
        results=str(target.output.resolve()),
    )
    return RowRedaction(target.secrets).record(info)


def summary(endpoint: EndpointInfo, tally: Tally) -> EndpointSummary:
    """Return the summary of an endpoint, from its description and its rows."""
    counts = tally.counts()
    return EndpointSummary(
        model=endpoint.model,
        vendor=endpoint.vendor,
        is_baseline=endpoint.is_baseline,
        began=endpoint.began,
        ended=endpoint.ended,
        counts=counts,
        figures=tally.figures(),
        not_sent=endpoint.not_sent,
        failure=endpoint.failure,
        cost=cost(counts.usage, endpoint.prices),
        provenance=endpoint.provenance,
    )


def provenance(target: Target, cases: TestSet, options: VerifyOptions) -> dict[str, Any]:
    """Return the test set, configuration, drivers and options behind the results, without secrets."""
    return {
        "trialbed_version": version("trialbed"),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "test_set": cases.path.name,
        "test_set_digest": cases.digest,
        "test_set_cases": len(cases),
        "bad_lines": [{"line": line.index, "reason": line.reason} for line in cases.bad_lines],
        "configuration": target.configuration(),
        "configuration_digest": target.digest(),
        "drivers": {
            "vendor": _driver("vendors", target.driver_name),
            "model_adapter": _driver("model_adapters", target.adapter_name),
        },
        "proxy": target.proxy.url if target.proxy else None,
        "trials": options.trials_of(target),
        "request_concurrency": options.concurrency_at(target),
        "vendor_concurrency": options.vendor_concurrency,
        "prices": dict(target.prices) or None,
        "timeout_s": options.timeout,
        "retries": options.retries,
    }


def cost(usage: Mapping[str, int], prices: Mapping[str, float]) -> TokenCost | None:
    """Return the cost of the reported tokens at the prices of the configuration; None if it has none."""
    if not prices:
        return None
    asked = usage["prompt_tokens"] * prices.get("input", 0.0) / MILLION
    answered = usage["completion_tokens"] * prices.get("output", 0.0) / MILLION
    return TokenCost(asked, answered, asked + answered)


def write_summary(path: Path, found: EndpointSummary) -> None:
    """Replace a summary atomically.

    Raises:
        OSError: the file cannot be written.
    """
    text = json.dumps(found.as_json(), ensure_ascii=False, indent=2) + "\n"
    with replacing(path) as file:
        # Vendors send lone surrogates, which JSON can hold as escapes only.
        file.write(text.encode("utf-8", "backslashreplace"))


def _driver(kind: str, name: str) -> str | None:
    """Return a driver's name with the distribution that provides it."""
    if not name:
        return None
    found = driver_info(kind, name)
    return f"{name} ({found.distribution} {found.version})"
