"""The errors of the lab: an adapter fails a check, or a figure could not be observed."""

from __future__ import annotations


class CheckFailed(AssertionError):
    """The adapter fails a check. The message names what was expected and what was seen.

    Attributes:
        cause: what other checks fail for as well, in words; empty if that is not known.
    """

    def __init__(self, message: str, cause: str = "") -> None:
        super().__init__(message)
        self.cause = cause


class NotMeasured(Exception):
    """A figure could not be observed; the text says why, and is shown instead."""
