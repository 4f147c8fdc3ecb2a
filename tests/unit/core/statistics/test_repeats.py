"""Success over repeats."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each

from trialbed.statistics import pass_at_k, pass_hat_k


@given(st.data())
def test_they_are_the_shares_of_all_choices_of_k_trials(data: st.DataObject) -> None:
    outcomes = data.draw(st.lists(st.booleans(), min_size=1, max_size=7))
    k = data.draw(st.integers(1, len(outcomes)))
    chosen = list(combinations(outcomes, k))
    assert pass_at_k(len(outcomes), sum(outcomes), k) == pytest.approx(sum(map(any, chosen)) / len(chosen))
    assert pass_hat_k(len(outcomes), sum(outcomes), k) == pytest.approx(sum(map(all, chosen)) / len(chosen))


def test_one_trial_is_the_rate_of_success() -> None:
    assert pass_at_k(4, 3, 1) == pass_hat_k(4, 3, 1) == 0.75


@for_each(("trials", "successes", "k"), [(2, 1, 3), (2, 3, 1), (2, 1, 0), (0, 0, 1)])
def test_what_cannot_be_told_is_refused(trials: int, successes: int, k: int) -> None:
    for estimate in (pass_at_k, pass_hat_k):
        with pytest.raises(ValueError, match="say nothing"):
            estimate(trials, successes, k)
