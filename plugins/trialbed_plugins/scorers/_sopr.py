"""Is the answer right?"""

from __future__ import annotations

from trialbed.errors import JudgeError
from trialbed.records import Failure, Score
from trialbed.scoring import ScoreContext

NAME = "sopr_score"


async def score_answer(context: ScoreContext) -> Score:
    """``sopr_score``: the run's judge on the answer; the label is the answer's status.

    Solved is 1, Unsure 0.5, Unsolved 0, averaged over the votes (Solvable Pass Rate, Guo et al. 2024). A judge
    that gives no usable verdict is a failure, never a guess.
    """
    try:
        verdict = await context.judge.judge(context.query, context.answer, context.wire)
    except JudgeError as error:
        return _failed(context, str(error))
    except Exception as error:  # noqa: BLE001 - a judge is foreign code: its fault must not cost the other scores
        return _failed(context, f"{type(error).__name__}: {error}")
    detail = {"method": context.judge_name, "reason": verdict.reason, "votes": list(verdict.votes)}
    return Score(name=NAME, value=verdict.value, label=verdict.status, detail=detail)


def _failed(context: ScoreContext, message: str) -> Score:
    failure = Failure(kind="judge", message=f"judge {context.judge_name}: {message}")
    return Score(name=NAME, value=None, detail={"method": context.judge_name}, failure=failure)
