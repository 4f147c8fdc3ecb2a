"""Configurations of runs, and trials that have ended."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from trialbed.records import Failure, FailureKind, Outcome, Run, RunConfig, Timing, TrialKey, TrialResult, WireLog

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def run_config(**fields: Any) -> RunConfig:
    """A run of the reference agent over two queries, except for these fields."""
    defaults = {
        "frameworks": ("reference",),
        "adapter_versions": {"reference": "trialbed 0.1.0"},
        "dataset": "mini",
        "test_set": "mini",
        "dataset_digest": "d",
        "query_ids": (1, 2),
        "model": "scripted:gold",
        "trialbed_version": "0.1.0",
    }
    return RunConfig(**defaults | fields)


def run_of(config: RunConfig, run_id: str = "r", **fields: Any) -> Run:
    """A finished run of this configuration, except for these fields."""
    defaults = {"config_digest": "d", "status": "finished", "created_at": NOW, "environment_digest": "e"}
    return Run(run_id=run_id, config=config, **defaults | fields)


def ended(kind: FailureKind | None = None, message: str = "refused") -> TrialResult:
    """A trial that failed in this way, or did not fail."""
    failure = Failure(kind=kind, message=message) if kind else None
    return TrialResult(
        trial="token-token",
        key=TrialKey(framework="reference", query_id=1),
        seed=0,
        outcome=Outcome(started_at=NOW, wall_time=1, failure=failure),
        wire=WireLog(trial="token-token", opened_at=NOW),
        timing=Timing(wall=1, model=0, tool=0, framework=1),
        selected_tools=(),
    )
