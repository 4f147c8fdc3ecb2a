"""Trials that have ended, for tests of what becomes of their results."""

from __future__ import annotations

from datetime import UTC, datetime

from trialbed.records import Failure, FailureKind, Outcome, Timing, TrialKey, TrialResult, WireLog

NOW = datetime(2026, 1, 1, tzinfo=UTC)


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
