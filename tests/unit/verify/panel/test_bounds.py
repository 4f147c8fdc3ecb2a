"""Means over cases, as they are shown and as they decide."""

from __future__ import annotations

import numpy as np
import pytest
from support.cases import for_each

from trialbed_verify.panel import GATES, Mean, compare_values

SCHEMA = next(gate for gate in GATES if gate.name == "schema")


def excess(values: list[float], absent: int = 0) -> Mean | None:
    """The mean over cases of which each has one trial per side, and so an excess of this value."""
    sides = np.array([[max(0.0, -value), max(0.0, value)] for value in values]).reshape(-1, 1)
    cases = np.repeat(np.arange(len(values)), 2), np.tile([False, True], len(values))
    return compare_values(SCHEMA, (sides, *cases), len(values) + absent, 1, 0).excess


def mean(values: list[float], absent: int = 0) -> Mean:
    found = excess(values, absent)
    assert found is not None
    return found


def test_what_is_shown_is_over_the_cases_that_have_a_value() -> None:
    found = mean([1.0] * 54, absent=66)
    assert (found.value, found.n) == (1.0, 54)
    assert found.low <= found.value <= found.high
    assert (found.weighed, found.counted) == (0.9, 60)
    assert found.is_beyond(0.8)
    assert not found.is_beyond(0.9)


@for_each("values", [[1.0, 1.0], [1.0, 0.0], [-1.0, 1.0, 0.0]])
def test_an_interval_of_few_cases_stays_where_the_figure_can_be(values: list[float]) -> None:
    found = mean(values, absent=3)
    assert -1.0 <= found.low <= found.value <= found.high <= 1.0


@for_each("cases", [1, 5, 120])
def test_where_no_case_differs_the_interval_allows_for_those_that_were_not_seen(cases: int) -> None:
    found = mean([0.0] * cases)
    assert found.value == 0.0
    assert found.high == -found.low == pytest.approx(min(1.0, 2.706 / cases), rel=0.01)
    assert 0 < found.as_json()["at_most"] <= found.high or cases == 1


def test_without_a_value_there_is_no_mean() -> None:
    assert excess([], absent=2) is None
