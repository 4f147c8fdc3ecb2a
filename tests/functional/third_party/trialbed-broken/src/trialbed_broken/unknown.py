"""Implements a hook that does not exist."""

from __future__ import annotations

from trialbed import hookimpl


@hookimpl
def trial_scored(run: object) -> None:
    pass
