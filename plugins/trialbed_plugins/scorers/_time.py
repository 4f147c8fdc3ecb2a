"""How long did it take, and who was waited for?"""

from __future__ import annotations

from collections.abc import Iterable

from trialbed.records import Score
from trialbed.scoring import ScoreContext


def score_time(context: ScoreContext) -> Iterable[Score]:
    """``wall_time`` and its parts ``model_time``, ``tool_time`` and ``framework_time``, in seconds."""
    timing = context.timing
    for part in ("wall", "model", "tool", "framework"):
        yield Score(name=f"{part}_time", value=getattr(timing, part), bounded=False)
