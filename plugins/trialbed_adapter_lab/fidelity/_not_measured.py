"""The error for a figure that is missing."""

from __future__ import annotations


class NotMeasured(Exception):
    """A figure could not be observed; the text says why, and is shown instead."""
