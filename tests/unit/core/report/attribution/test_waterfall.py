from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.scoring import Attributed, attribution_of, gold_call

from trialbed.report.attribution import STAGES, USED, AttributedCall

GOLD = gold_call("a")
calls = st.lists(st.sampled_from([None, *STAGES]).map(lambda stage: AttributedCall(GOLD, stage)), max_size=50)


@given(calls)
def test_every_gold_call_is_counted_once_and_the_shares_sum_to_100_percent(found: list[AttributedCall]) -> None:
    result = attribution_of([Attributed(1, None, found[:3]), Attributed(2, None, None), Attributed(3, None, found[3:])])
    lost = [call for call in found if call.lost]
    assert sum(result.losers.values()) == len(lost)
    assert {stage: first.call for stage, first in result.first.items()} == {call.lost: call for call in lost}
    assert list(result.counts) == [*STAGES, USED]
    assert result.gold_calls == len(found)
    if found:
        assert sum(share or 0.0 for share in result.shares.values()) == pytest.approx(1.0, abs=1e-12)


def test_without_gold_calls_there_are_no_shares() -> None:
    found = attribution_of([])
    assert found.counts == dict.fromkeys([*STAGES, USED], 0)
    assert found.shares == dict.fromkeys([*STAGES, USED])
