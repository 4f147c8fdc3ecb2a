"""When to stop a run that cannot measure anything."""

from __future__ import annotations

from trialbed.errors import NothingMeasured
from trialbed.records import TrialResult

INFRASTRUCTURE = ("model", "server")
"""Failures of these kinds say nothing about a framework."""

PATIENCE = 8
"""How many of the first trials may all end so."""


class Patience:
    """Gives a run up when all of its first trials fail for want of a model or server."""

    def __init__(self) -> None:
        self._failures = 0
        self._hopeful = False

    def see(self, result: TrialResult) -> None:
        """Take note of a trial.

        Raises:
            NothingMeasured: every trial so far failed so, and there were enough.
        """
        failure = result.outcome.failure
        if failure is None or failure.kind not in INFRASTRUCTURE:
            self._hopeful = True
        self._failures += 1
        if not self._hopeful and failure is not None and self._failures >= PATIENCE:
            raise NothingMeasured(
                f"none of the first {PATIENCE} trials could reach its {failure.kind}: {failure.message}"
            )
