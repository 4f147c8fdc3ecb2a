"""Finds on a trial's wire all that bears on whether its scores are the framework's and the model's."""

from trialbed.integrity._clock import outside_clock, with_outside_time
from trialbed.integrity._findings import integrity_findings

__all__ = ["integrity_findings", "outside_clock", "with_outside_time"]
