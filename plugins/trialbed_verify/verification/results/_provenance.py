"""The test set, configuration, drivers and options behind the results of a target, without secrets."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

from trialbed.drivers import driver_info
from trialbed.records import EndpointInfo
from trialbed_verify.verification.cases import TestSet
from trialbed_verify.verification.results._redaction import RowRedaction
from trialbed_verify.verification.targets import Target, VerifyOptions


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


def _driver(kind: str, name: str) -> str | None:
    """Return a driver's name with the distribution that provides it."""
    if not name:
        return None
    found = driver_info(kind, name)
    return f"{name} ({found.distribution} {found.version})"
