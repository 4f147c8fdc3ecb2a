"""Errors of the lab for failed checks, and for checks that cannot be run or observed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from trialbed.records import Json

FAILS = "the trial fails"
"""Prefix of the cause if a check fails because its trial failed."""

FAILS_EARLY = f"{FAILS} before it asks the model"
"""Prefix of the cause if the trial failed so early that no later check can pass."""


class CheckFailed(AssertionError):
    """The adapter fails a check. The message names the expectation and the observation.

    Args:
        seen: figures of the observation by name; by default the words of the message after ``seen:``, in one line.

    Attributes:
        cause: common to all checks that fail for it, in words; empty if it is not known.
        seen: the observation alone.
    """

    def __init__(self, message: str, cause: str = "", seen: Json = None) -> None:
        super().__init__(message)
        self.cause = cause
        self.seen: Json = message.rpartition("; seen: ")[2].partition("\n")[0] if seen is None else seen


class NotTried(Exception):
    """A check cannot say anything about this adapter or plugin; the text says why."""
