"""What did the answer cost?"""

from __future__ import annotations

from collections.abc import Iterable

from trialbed.records import Failure, Score, Usage
from trialbed.results import observed_usage
from trialbed.scoring import ScoreContext

PARTS = ("prompt_tokens", "completion_tokens", "total_tokens")


def score_tokens(context: ScoreContext) -> Iterable[Score]:
    """``prompt_tokens``, ``completion_tokens`` and ``total_tokens`` over all model calls, as the model reported them.

    What the framework counted stands in the detail. Not told where the model did not report its usage.
    """
    observed, claimed = observed_usage(context.wire), context.answer.usage
    for part in PARTS:
        detail = {"claimed": getattr(claimed, part) if claimed else None}
        yield _score(part, observed, detail)


def _score(part: str, observed: Usage | None, detail: dict[str, int | None]) -> Score:
    if observed is None:
        failure = Failure(kind="model", message="the model did not report the tokens of every call")
        return Score(name=part, value=None, detail=detail, bounded=False, failure=failure)
    return Score(name=part, value=float(getattr(observed, part)), detail=detail, bounded=False)
