"""The summary of one target: a JSON file beside its results."""

from __future__ import annotations

import json
import os
import platform
import tempfile
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from trialbed.verification._cases import TestSet
from trialbed.verification._options import VerifyOptions
from trialbed.verification._tally import Tally
from trialbed.verification._targets import Target

SATURATED = 0.05
"""Seconds of lag, at the 95th percentile of answers, from which times say more about this process than the vendor."""


def summary(
    target: Target,
    cases: TestSet,
    options: VerifyOptions,
    tally: Tally,
    *,
    started: datetime,
    finished: datetime,
    not_sent: int,
) -> dict[str, Any]:
    """The K2-style fields, then ours; ``eval_*`` describe this invocation."""
    counted = tally.k2_fields()
    own = tally.own_fields()
    return {
        "model": target.settings.model,
        **counted,
        "eval_started_at": started.isoformat(),
        "eval_finished_at": finished.isoformat(),
        "eval_duration_ms": round((finished - started).total_seconds() * 1000),
        "vendor": target.name,
        "is_baseline": target.is_baseline,
        **own,
        "not_sent": not_sent,
        "client_saturated": _saturated(own),
        "provenance": provenance(target, cases, options),
    }


def provenance(target: Target, cases: TestSet, options: VerifyOptions) -> dict[str, Any]:
    """What was asked, of whom, with what."""
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
        "trials": options.trials,
        "request_concurrency": options.request_concurrency,
        "timeout_s": options.timeout,
        "retries": options.retries,
    }


def write_summary(path: Path, document: dict[str, Any]) -> None:
    """Replace a summary, all at once."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        json.dump(document, file, ensure_ascii=False, indent=2)
        file.write("\n")
    os.chmod(name, 0o644)
    os.replace(name, path)


def _saturated(own: dict[str, Any]) -> bool | None:
    lag = own["loop_lag_ms"]
    return None if lag is None else bool(lag["p95"] > SATURATED * 1000)
