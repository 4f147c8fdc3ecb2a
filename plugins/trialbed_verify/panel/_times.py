"""Compares the times of answers, where a vendor is compared with itself: two vendors are elsewhere, and so slower."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from trialbed_verify.panel._gates import LOG_RANGE, TIMES
from trialbed_verify.panel._measures import Measures
from trialbed_verify.panel._results import GateResult
from trialbed_verify.panel._samples import Trials


def with_settled_times(sides: Sequence[Trials]) -> list[Trials]:
    """Return the trials with their times on the scale of the gate: 0.5 is the usual time of the case.

    The usual time is the geometric mean of all trials of the case, whichever side they are of, so that the labels
    remain exchangeable. A factor of four is 1.
    """
    return [_settle(ours, theirs) for ours, theirs in sides]


def time_sentence(results: Sequence[GateResult]) -> str:
    """Return how many times as long answers take, with the interval; empty where that is not compared."""
    excess = next((result.excess for result in results if result.gate.name == TIMES.name), None)
    if excess is None:
        return ""
    factor, low, high = (math.exp(LOG_RANGE * share) for share in (excess.value, excess.low, excess.high))
    return f"they take {factor:.2f} [{low:.2f}, {high:.2f}] times as long"


def _settle(ours: Sequence[Measures], theirs: Sequence[Measures]) -> Trials:
    logs = [math.log(trial.duration) for trial in (*ours, *theirs) if trial.answered and trial.duration > 0]
    usual = sum(logs) / len(logs) if logs else 0.0

    def rescale(trial: Measures) -> Measures:
        if not (trial.answered and trial.duration > 0):
            return replace(trial, duration=math.nan)
        share = (math.log(trial.duration) - usual) / LOG_RANGE
        return replace(trial, duration=min(1.0, max(0.0, 0.5 + share)))

    return [rescale(trial) for trial in ours], [rescale(trial) for trial in theirs]
