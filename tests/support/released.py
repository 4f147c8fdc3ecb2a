"""Releases as they might have been measured."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from trialbed.records import Json
from trialbed_adapter_lab import CheckFinding, ConformanceReport
from trialbed_adapter_lab.fidelity import MeasuredAdapter
from trialbed_adapter_lab.releases import MeasuredRelease


def finding(value: Json, name: str = "requests_of_a_trial", theme: str = "policies", **more: Any) -> CheckFinding:
    """A finding of a probe that demands nothing."""
    return CheckFinding(**{"check": name, "theme": theme, "level": "info", "outcome": "seen", "seen": value} | more)


def measured(
    release: str,
    *findings: CheckFinding,
    kit: str = "k1",
    content: str = "Hello",
    missing: Sequence[MeasuredAdapter] = (),
    **more: Any,
) -> MeasuredRelease:
    """A release with one profile, and a trial of one request."""
    body = {"conversation": [{"role": "system", "content": content}], "model": "m"}
    found = ConformanceReport(
        framework="acme:native",
        version=release,
        adapter="trialbed-acme",
        adapter_version="1",
        findings=(*findings, finding([body])),
    )
    fields = {
        "framework": "acme",
        "release": release,
        "kit": kit,
        "measured_at": datetime(2026, 1, 2, tzinfo=UTC),
        "trialbed": "0.1.0",
        "python": "3.11",
        "system": "Linux",
        "packages": (f"acme=={release}", "httpx==0.28"),
        "figures": (MeasuredAdapter(label=f"acme:native=={release}", report=found), *missing),
    }
    return MeasuredRelease(**fields | more)
