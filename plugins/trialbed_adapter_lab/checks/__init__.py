"""The checks, by theme."""

from types import ModuleType

from trialbed_adapter_lab.checks import (
    arguments,
    calls,
    claims,
    conditions,
    conversation,
    faults,
    hygiene,
    invariants,
    isolation,
    limits,
    schemas,
    sizes,
)
from trialbed_adapter_lab.conformance import Check

THEMES = (
    calls,
    conversation,
    arguments,
    faults,
    schemas,
    limits,
    sizes,
    conditions,
    claims,
    isolation,
    hygiene,
    invariants,
)


def checks_of(theme: ModuleType) -> tuple[Check, ...]:
    """Return the checks of a theme, single ones and tables, in the order in which its module defines them."""
    items = [item if isinstance(item, tuple) else (item,) for item in vars(theme).values()]
    return tuple(check for item in items for check in item if isinstance(check, Check))


_LAST = "only_the_rig_is_talked_to"

CHECKS: tuple[Check, ...] = tuple(
    sorted((check for theme in THEMES for check in checks_of(theme)), key=lambda check: check.name == _LAST)
)
"""Every check, in the order in which they are run: invariants after all whose trials they look at, contacts last."""

__all__ = ["CHECKS", "THEMES", "checks_of"]
