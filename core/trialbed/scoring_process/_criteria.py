"""Has the criteria of a trial's task judged within the limits."""

from __future__ import annotations

from dataclasses import replace

from trialbed.scoring import ScoreContext, run_criteria
from trialbed.scoring_process._pool import ScoringProcesses


async def with_criteria(context: ScoreContext, processes: ScoringProcesses | None) -> ScoreContext:
    """Return a trial's context with the findings of its judge on the criteria of the task.

    Args:
        processes: those of the judge; None asks it here.
    """
    expected = context.query.expected
    if expected is None or not expected.all_criteria:
        return context
    # A judge may be foreign code: on the caller's loop, it could hold up the whole run.
    judge = context.judge if processes is None else processes.bounded(context.judge)
    found = await run_criteria(judge, context)
    names = {result.name for result in found}
    others = (result for result in context.checks if result.name not in names)
    return replace(context, checks=(*others, *found))
