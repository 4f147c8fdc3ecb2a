"""Many tests at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

Test = TypeVar("Test")


def holm(p_values: Mapping[Test, float]) -> dict[Test, float]:
    """Return the p-values adjusted so that the chance of any false finding among them is at most the level.

    Source: S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of Statistics
    6 (1979), 65-70.

    Args:
        p_values: test -> its p-value.

    Returns:
        test -> its adjusted p-value, in the order given.
    """
    adjusted: dict[Test, float] = {}
    largest = 0.0
    for number, test in enumerate(sorted(p_values, key=lambda test: p_values[test])):
        largest = max(largest, min(1.0, p_values[test] * (len(p_values) - number)))
        adjusted[test] = largest
    return {test: adjusted[test] for test in p_values}
