"""Adapters with one defect each: the reference loop, broken in one place.

They lie in modules of the checks' themes.
"""

from support.defects import (
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
from support.defects._defective import Defective

__all__ = ["DEFECTS", "Defective"]

THEMES = (
    conditions,
    calls,
    conversation,
    arguments,
    faults,
    schemas,
    limits,
    sizes,
    claims,
    isolation,
    invariants,
    hygiene,
)

DEFECTS: tuple[type[Defective], ...] = tuple(
    item
    for theme in THEMES
    for item in vars(theme).values()
    if isinstance(item, type) and item.__module__ == theme.__name__ and item.__dict__.get("caught_by")
)
