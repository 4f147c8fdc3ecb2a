"""The trials of a report in short."""

from __future__ import annotations

from support.stored_runs import trial

from trialbed.report._trials import Shortener


def test_equal_parts_of_many_trials_are_kept_once() -> None:
    short = Shortener()
    one, other = (short(trial("reference", query, wrong=False)) for query in (1, 2))
    assert one.key != other.key
    assert one.wire.usage is other.wire.usage
    assert one.wire.finish_reasons is other.wire.finish_reasons
    assert one.claimed is other.claimed
    assert one.scores == other.scores
    assert all(mine is its for mine, its in zip(one.scores, other.scores, strict=True))
