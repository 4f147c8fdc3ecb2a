from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from trialbed_verify.ranking import average_ranks, rank

VALUES = st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=1, max_size=12)


@given(VALUES, st.booleans())
def test_average_ranks_are_those_of_sorting(values: list[float], more_is_better: bool) -> None:
    ordered = sorted(values, reverse=more_is_better)
    expected = [
        sum(place for place, other in enumerate(ordered, 1) if other == value) / ordered.count(value)
        for value in values
    ]
    assert average_ranks(np.array(values), more_is_better=more_is_better).tolist() == expected
    assert sum(expected) == len(values) * (len(values) + 1) / 2


def test_a_single_vendor_has_exactly_one(candidate: Any) -> None:
    (only,) = rank([candidate("only")]).models["m"].ranked
    assert only.score == 1


def test_equal_vendors_have_equal_scores_and_share_a_place(candidate: Any) -> None:
    ranked = rank([candidate(name) for name in "abc"]).models["m"].ranked
    assert [(one.vendor, one.score, one.rank) for one in ranked] == [(name, Fraction(6, 7), 1) for name in "abc"]


def test_less_is_better_for_times_and_tokens(candidate: Any) -> None:
    for metric in ("ttft_ms", "avg_token"):
        good, bad = rank([candidate("bad", **{metric: 2000.0}), candidate("good")]).models["m"].ranked
        assert (good.vendor, good.ranks[metric], bad.ranks[metric]) == ("good", 1, 2)
