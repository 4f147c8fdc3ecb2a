"""The checks, by theme."""

from trialbed.conformance._check import Check
from trialbed.conformance.checks import calls

CHECKS: tuple[Check, ...] = (*calls.CHECKS,)
"""Every check, in the order in which they are run."""

__all__ = ["CHECKS"]
