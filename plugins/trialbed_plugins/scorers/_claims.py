"""The score of the agent's claims."""

from __future__ import annotations

from trialbed.records import Score
from trialbed.scoring import ScoreContext, scorer
from trialbed.tool_calls import claimed_pairs, compare_calls, sent_pairs


@scorer(
    meaning="agreement of the calls that it reports with those that the server saw",
    quality=False,
    missing="the answer is plain text, which claims nothing",
)
def claimed_vs_observed(context: ScoreContext) -> Score | None:
    """Return the share of calls that are both claimed and observed, of all that are either.

    Over multisets of (tool_name, api_name, arguments); a claim without arguments matches any call of its Api.
    The detail lists the calls that were invented (claimed, never made), unreported (made, never claimed) and unasked
    (made, though no answer of the model asked for them), and the calls as the model sent them and as the agent claims
    them. It says nothing of the quality of an answer, so failed trials are left out of its mean. Answers that are plain
    text claim nothing, and do not get the score.
    """
    if not context.answer.reports_calls:
        return None
    found = compare_calls(context.answer, context.wire)
    detail = {
        "invented": list(map(list, found.invented)),
        "unreported": list(map(list, found.unreported)),
        "unasked": [list(call.api.pair) for call in context.unasked],
        "sent": list(map(list, sent_pairs(context.wire, context.tools))),
        "claimed": list(map(list, claimed_pairs(context.answer))),
    }
    return Score(name="claimed_vs_observed", value=found.agreement, detail=detail, quality=False)
