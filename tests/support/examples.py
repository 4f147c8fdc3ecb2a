"""How many examples a property is tried on."""

from __future__ import annotations

from hypothesis import settings


def examples(share: float) -> int:
    """This many times the examples that Hypothesis' profile asks for, which is chosen before tests are collected."""
    return max(1, round(share * settings().max_examples))
