from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.cases import for_each
from support.scoring import Attributed, gold_call

from trialbed.report.attribution import STAGES, USED, AttributedCall, percentages, waterfall

GOLD = gold_call("a")
calls = st.lists(st.sampled_from([None, *STAGES]).map(lambda stage: AttributedCall(GOLD, stage)), max_size=50)


@given(calls)
def test_every_gold_call_is_counted_once_and_the_shares_sum_to_100_percent(found: list[AttributedCall]) -> None:
    result = waterfall([Attributed(1, None, found[:3]), Attributed(2, None, None), Attributed(3, None, found[3:])])
    lost = [call for call in found if call.lost]
    assert sum(result.losers.values()) == len(lost)
    assert {stage: first.call for stage, first in result.first.items()} == {call.lost: call for call in lost}
    assert list(result.counts) == [*STAGES, USED]
    assert result.gold_calls == len(found)
    if found:
        assert sum(share or 0.0 for share in result.shares.values()) == pytest.approx(1.0, abs=1e-12)
        assert sum(percentages(list(result.counts.values()))) == 100


def test_without_gold_calls_there_are_no_shares() -> None:
    found = waterfall([])
    assert found.counts == dict.fromkeys([*STAGES, USED], 0)
    assert found.shares == dict.fromkeys([*STAGES, USED])


@given(st.lists(st.integers(0, 10**9), max_size=20))
def test_whole_percentages_sum_to_100_and_are_off_by_less_than_1(counts: list[int]) -> None:
    found = percentages(counts)
    assert sum(found) == (100 if sum(counts) else 0)
    for count, share in zip(counts, found, strict=True):
        assert abs(share - (100 * count / sum(counts) if sum(counts) else 0)) < 1


@for_each(
    ("counts", "shares"), [([1, 1, 1], [34, 33, 33]), ([0, 5], [0, 100]), ([1, 199], [1, 99]), ([], []), ([0], [0])]
)
def test_percentages(counts: list[int], shares: list[int]) -> None:
    assert percentages(counts) == shares
