"""Has the criteria of a trial's task judged within the limits."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from trialbed.scoring import ScoreContext, is_large, open_criteria, run_criteria
from trialbed.scoring_process._pool import NO_JUDGE, ScoringProcesses


async def with_criteria(context: ScoreContext, processes: ScoringProcesses | None) -> ScoreContext:
    """Return a trial's context with the findings of its judge on the criteria of the task.

    Where they decide nothing, the judge is not asked: its model costs the same for a trial that has failed anyway.

    Args:
        processes: those of the judge; None asks it here.

    Raises:
        ScoringStopped: the trial's texts are more than can be read within the limits.
    """
    expected = context.query.expected
    if expected is None or not expected.all_criteria:
        return context
    # A judge may be foreign code: on the caller's loop, it could hold up the whole run.
    judge = context.judge if processes is None else processes.bounded(context.judge)
    found = await run_criteria(judge, context, await _open(context, processes))
    names = {result.name for result in found}
    others = (result for result in context.checks if result.name not in names)
    return replace(context, checks=(*others, *found))


async def _open(context: ScoreContext, processes: ScoringProcesses | None) -> frozenset[str]:
    if processes is None or not is_large(context.answer, context.wire):
        return await asyncio.to_thread(open_criteria, context)
    # No judge is asked there, and few can be sent.
    return await processes.call(open_criteria, replace(context, judge=NO_JUDGE))
