from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed.statistics import holm


@for_each(
    ("p_values", "adjusted"),
    [  # as statsmodels.stats.multitest.multipletests(..., method="holm") gives them
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
        ([0.2, 0.001, 0.9, 0.02, 0.02], [0.4, 0.005, 0.9, 0.08, 0.08]),
        ([0.5, 0.5], [1.0, 1.0]),
        ([], []),
    ],
)
def test_holm_agrees_with_an_independent_implementation(p_values: list[float], adjusted: list[float]) -> None:
    found = holm(dict(enumerate(p_values)))
    assert list(found) == list(range(len(p_values)))
    assert list(found.values()) == pytest.approx(adjusted)


@given(st.dictionaries(st.integers(), st.floats(0, 1), max_size=12))
def test_a_corrected_p_value_is_never_smaller_and_keeps_the_order(p_values: dict[int, float]) -> None:
    found = holm(p_values)
    assert all(p_values[test] <= found[test] <= 1 for test in p_values)
    ordered = sorted(p_values, key=lambda test: p_values[test])
    assert [found[test] for test in ordered] == sorted(found.values())
