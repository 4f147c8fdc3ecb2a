"""What the engine tells whoever watches a run."""

from __future__ import annotations

from typing import Protocol

from trialbed.records import Run, TrialResult


class Progress(Protocol):
    """Watches a run; every method returns at once."""

    def begin(self, run: Run, *, total: int, done: int) -> None:
        """A run begins, or goes on with ``done`` of its ``total`` trials kept."""

    def advance(self, result: TrialResult) -> None:
        """A trial has ended and is committed."""

    def end(self) -> None:
        """No more trials end."""


class Silent:
    """Shows nothing."""

    def begin(self, run: Run, *, total: int, done: int) -> None:
        """Show nothing."""

    def advance(self, result: TrialResult) -> None:
        """Show nothing."""

    def end(self) -> None:
        """Show nothing."""
