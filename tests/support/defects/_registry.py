"""The defects, and the checks that they are caught by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from support.mutants._mutant import Mutant, made_of

DEFECTS: dict[type[Mutant], tuple[str, ...]] = {}
"""Defect -> the checks that fail for it."""


def caught_by(*checks: str, seam: str = "") -> Callable[[Any], Any]:
    """Make a class a defect that these checks catch, or a function the defect that does it at a seam."""

    def register(harm: Any) -> Any:
        DEFECTS[made_of(harm, seam) if seam else harm] = checks
        return harm

    return register
