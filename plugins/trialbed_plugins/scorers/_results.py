"""The score of the agent's use of the results."""

from __future__ import annotations

from collections.abc import Iterable

from trialbed.records import Json, Score
from trialbed.scoring import ScoreContext
from trialbed.tool_calls import Uses
from trialbed_plugins.scorers._reasons import reason, title


def score_results(context: ScoreContext) -> Iterable[Score]:
    """``used_results``: the share of results of which something is in the answer or in a later call's arguments.

    Results are those of accepted calls, equal calls once, as far as they say what neither the query nor the call's own
    arguments say. Without such results it has no value.
    """
    calls = context.asked
    accepted = {(call.api, call.signature): call for call in reversed(calls) if call.accepted}
    uses = Uses(context.query, context.answer.final_answer, calls)
    found: dict[bool, list[str]] = {True: [], False: []}
    for call in reversed(accepted.values()):
        used = uses.of(call)
        if used is not None:
            found[used].append(title(call))
    total = len(found[True]) + len(found[False])
    if total:
        unused = reason((f"{name}: not used" for name in found[False]), "every result was used")
        detail: dict[str, Json] = {"used": list(found[True]), "unused": list(found[False]), **unused}
        yield Score(name="used_results", value=len(found[True]) / total, detail=detail, quality=False)
