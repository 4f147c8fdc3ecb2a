"""The errors of the lab: an adapter fails a check, or something could not be tried or observed."""

from __future__ import annotations


class CheckFailed(AssertionError):
    """The adapter fails a check. The message names the expectation and the observation.

    Attributes:
        cause: common to all checks that fail for it, in words; empty if it is not known.
    """

    def __init__(self, message: str, cause: str = "") -> None:
        super().__init__(message)
        self.cause = cause

    @property
    def seen(self) -> str:
        """The observation alone."""
        return str(self).rpartition("; seen: ")[2]


class NotTried(Exception):
    """A check cannot say anything about this adapter or plugin; the text says why."""


class NotMeasured(Exception):
    """A figure could not be observed; the text says why, and is shown instead."""
