from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from support.cases import for_each

from trialbed.statistics import PairedTest, holm, mcnemar, paired_test


def sign_flip(differences: NDArray[Any], **options: int) -> float:
    return paired_test(differences, of_amounts=True, **options).p


@for_each(
    ("first", "second", "p"),
    [  # as statsmodels.stats.contingency_tables.mcnemar(..., exact=below 25, correction=True) gives them
        (0, 1, 1.0),
        (5, 5, 1.0),
        (2, 10, 0.03857421875),
        (0, 12, 0.00048828125),
        (7, 17, 0.06391465663909912),
        (1, 23, 2.9802322387695312e-06),
        (10, 15, 0.4237107971667936),
        (5, 25, 0.0005225753951242464),
        (40, 60, 0.05743311963200335),
        (100, 173, 1.3147346040082727e-05),
    ],
)
def test_mcnemar_agrees_with_an_independent_implementation(first: int, second: int, p: float) -> None:
    assert mcnemar(first, second) == pytest.approx(p, rel=1e-9)
    assert mcnemar(second, first) == mcnemar(first, second)


def test_nothing_discordant_is_no_finding() -> None:
    assert mcnemar(0, 0) == 1.0
    assert sign_flip(np.zeros(20)) == 1.0


def test_sign_flips_find_what_all_patterns_give() -> None:
    differences = np.array([1.5, -0.2, 2.0, 0.7, 1.1, -0.4, 0.9])
    signs = np.array(np.meshgrid(*[[-1, 1]] * 7)).reshape(7, -1)
    exact = float((np.abs(differences @ signs) >= abs(differences.sum()) - 1e-9).mean())
    assert sign_flip(differences) == pytest.approx(exact)
    assert sign_flip(differences, draws=100) == pytest.approx(exact, abs=0.1)


def test_sign_flips_of_yes_and_no_agree_with_the_exact_test() -> None:
    differences = np.array([1.0] * 15 + [-1.0] * 5 + [0.0] * 80)
    assert sign_flip(differences, draws=40_000) == pytest.approx(mcnemar(15, 5), abs=0.01)


def test_a_p_value_is_never_zero_and_always_the_same() -> None:
    differences = np.random.default_rng(1).normal(3, 1, size=300)
    assert sign_flip(differences, draws=999) == 1 / 1000
    even = np.random.default_rng(2).normal(0, 1, size=300)
    assert sign_flip(even) == sign_flip(even)


def test_the_test_follows_from_the_differences() -> None:
    assert paired_test([1.0, 1.0, 0.0, -1.0]) == PairedTest("McNemar", mcnemar(1, 2), 2, 1)
    found = paired_test([0.5, 1.0, -1.0])
    assert found == PairedTest("sign flips", sign_flip(np.array([0.5, 1.0, -1.0])))
    assert paired_test(np.array([0.0, 0.0])) == PairedTest("McNemar", 1.0, 0, 0)
    assert paired_test(iter([1.0, 0.0, -1.0])) == paired_test([1.0, 0.0, -1.0])


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
