from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from trialbed_verify.ranking import METRICS, average_ranks, irf
from trialbed_verify.ranking._ranks import places, ranks_by_metric

VALUES = st.dictionaries(st.integers(), st.sampled_from([0.0, 0.5, 1.0, 2.0]), min_size=1, max_size=12)


@given(VALUES, st.booleans())
def test_average_ranks_are_those_of_sorting(values: dict[int, float], more_is_better: bool) -> None:
    ordered = sorted(values, key=lambda name: values[name], reverse=more_is_better)
    expected = {
        name: Fraction(sum(place for place, other in enumerate(ordered, 1) if values[other] == values[name]))
        / sum(values[other] == values[name] for other in ordered)
        for name in values
    }
    assert average_ranks(values, more_is_better=more_is_better) == expected
    assert sum(expected.values()) == Fraction(len(values) * (len(values) + 1), 2)


def test_a_single_vendor_has_exactly_one() -> None:
    ranks = ranks_by_metric({"only": dict.fromkeys(METRICS, 1.0)})
    assert irf(ranks["only"]) == 1


def test_equal_vendors_have_equal_scores_and_share_a_place() -> None:
    metrics = {name: dict.fromkeys(METRICS, 1.0) for name in "abc"}
    scores = {name: irf(ranks) for name, ranks in ranks_by_metric(metrics).items()}
    assert set(scores.values()) == {Fraction(6, 7)}
    assert places(scores) == {"a": 1, "b": 1, "c": 1}


def test_less_is_better_for_times_and_tokens() -> None:
    worse = dict.fromkeys(METRICS, 1.0)
    for metric in ("ttft_ms", "avg_token"):
        ranks = ranks_by_metric({"good": worse, "bad": worse | {metric: 2.0}})
        assert ranks["good"][metric] == 1
        assert ranks["bad"][metric] == 2
