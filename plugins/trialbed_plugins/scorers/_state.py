"""The score of the state that the calls left behind."""

from __future__ import annotations

from collections.abc import Iterable

from trialbed.records import Score
from trialbed.scoring import ScoreContext


def score_state(context: ScoreContext) -> Iterable[Score]:
    """``final_state``: whether the world is as a right solution leaves it; none where the query says nothing."""
    wanted = context.query.final_state
    if wanted is None:
        return
    found = context.wire.state
    right = found == wanted
    told = "as it should be" if right else "not as it should be"
    yield Score(name="final_state", value=float(right), detail={"found": found, "wanted": wanted, "reason": told})
