"""Asks a hook for an argument that it does not have."""

from __future__ import annotations

from trialbed import hookimpl


@hookimpl
def score_trial(context: object, weather: object) -> list[object]:
    return []
