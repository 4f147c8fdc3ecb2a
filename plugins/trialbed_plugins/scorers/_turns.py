"""How often was the model asked?"""

from __future__ import annotations

from collections.abc import Iterable

from trialbed.records import Score
from trialbed.results import failed, repeated_requests
from trialbed.scoring import ScoreContext


def score_turns(context: ScoreContext) -> Iterable[Score]:
    """``model_turns``: the requests that the model answered.

    The detail has those that failed, those that repeat an earlier one, and the turns that the framework counted.
    """
    failures = sum(1 for call in context.wire.model_calls if failed(call))
    yield Score(
        name="model_turns",
        value=float(len(context.wire.model_calls) - failures),
        detail={
            "failed": failures,
            "repeated": repeated_requests(context.wire),
            "claimed": context.answer.model_turns,
        },
        bounded=False,
    )
