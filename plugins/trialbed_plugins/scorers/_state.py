"""The score of the state that the calls left behind."""

from __future__ import annotations

from trialbed.records import Score
from trialbed.scoring import ScoreContext, scorer


@scorer(meaning="the Apis are left as a right solution leaves them", missing="the query names no final state")
def final_state(context: ScoreContext) -> Score | None:
    """Return 1 if the world is as a right solution leaves it, else 0."""
    wanted = context.query.final_state
    if wanted is None:
        return None
    found = context.wire.state
    right = found == wanted
    verdict = "as it should be" if right else "not as it should be"
    return Score(name="final_state", value=float(right), detail={"found": found, "wanted": wanted, "reason": verdict})
