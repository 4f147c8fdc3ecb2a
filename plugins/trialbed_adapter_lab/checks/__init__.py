"""The checks, by theme."""

from trialbed_adapter_lab._check import Check
from trialbed_adapter_lab.checks import (
    arguments,
    calls,
    claims,
    conditions,
    conversation,
    faults,
    hygiene,
    isolation,
    limits,
    schemas,
    sizes,
)

THEMES = (calls, conversation, arguments, faults, schemas, limits, sizes, conditions, claims, isolation, hygiene)

CHECKS: tuple[Check, ...] = tuple(check for theme in THEMES for check in theme.CHECKS)
"""Every check, in the order in which they are run; contacts with other servers are checked last."""

__all__ = ["CHECKS", "THEMES"]
