"""The score of the agent's use of the results."""

from __future__ import annotations

from trialbed.records import Json, Score
from trialbed.scoring import ScoreContext, scorer
from trialbed.tool_calls import Uses
from trialbed_plugins.scorers._reasons import reason, title


@scorer(
    meaning="share of the results of which something is in the answer or in a later call",
    quality=False,
    ideal=1.0,
    missing="no accepted call returned a value that could be looked for",
)
def used_results(context: ScoreContext) -> Score | None:
    """Return the share of results of which something is in the answer or in a later call's arguments.

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
    if not total:
        return None
    unused = reason((f"{name}: not used" for name in found[False]), "every result was used")
    detail: dict[str, Json] = {"used": list(found[True]), "unused": list(found[False]), **unused}
    return Score(name="used_results", value=len(found[True]) / total, detail=detail, quality=False)
