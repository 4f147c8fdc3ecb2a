"""Releases as they might have been measured."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from trialbed_adapter_lab.fidelity import ErrorFinding, FrameworkFidelity
from trialbed_adapter_lab.releases import MeasuredRelease, SentRequests


def measured(
    release: str, *errors: ErrorFinding, kit: str = "k1", content: str = "Hello", **more: Any
) -> MeasuredRelease:
    """A release with one profile, and a trial of one request."""
    label = f"acme:native=={release}"
    found = FrameworkFidelity(framework=label, version=release, adapter="trialbed-acme 1", errors=errors, **more)
    body = {"conversation": [{"role": "system", "content": content}], "model": "m"}
    return MeasuredRelease(
        framework="acme",
        release=release,
        kit=kit,
        measured_at=datetime(2026, 1, 2, tzinfo=UTC),
        trialbed="0.1.0",
        python="3.11",
        system="Linux",
        packages=(f"acme=={release}", "httpx==0.28"),
        figures=(found,),
        requests=(SentRequests(framework=label, bodies=(body,)),),
    )
