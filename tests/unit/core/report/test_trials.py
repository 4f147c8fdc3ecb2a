"""The trials of a report in short."""

from __future__ import annotations

from support.stored_runs import trial

from trialbed.records import Score
from trialbed.report._trials import Shortener


def test_a_score_of_its_own_is_small() -> None:
    scores = tuple(Score(name="wall_time", value=number / 7, bounded=False, detail={"of": number}) for number in (1, 2))
    result = trial("reference", 1, wrong=False).model_copy(update={"scores": scores})
    one, other = Shortener()(result).scores
    assert (one, other) == tuple(score.model_copy(update={"detail": {}}) for score in scores)
    assert one.model_fields_set is other.model_fields_set
    assert one.detail is other.detail
