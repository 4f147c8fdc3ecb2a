"""Did the framework report what it did?"""

from __future__ import annotations

from collections.abc import Iterable

from trialbed.records import Score
from trialbed.results import claimed_pairs, compare_calls, sent_pairs
from trialbed.scoring import ScoreContext


def score_claims(context: ScoreContext) -> Iterable[Score]:
    """``claimed_vs_observed``: the share of calls that are both claimed and observed, of all that are either.

    Over multisets of (tool_name, api_name, arguments); a claim without arguments matches any call of its Api.
    The detail lists the calls that were invented (claimed, never made) and unreported (made, never claimed),
    and the calls as the model sent them and as the agent claims them.
    """
    found = compare_calls(context.answer, context.wire)
    detail = {
        "invented": list(map(list, found.invented)),
        "unreported": list(map(list, found.unreported)),
        "sent": list(map(list, sent_pairs(context.wire, context.tools))),
        "claimed": list(map(list, claimed_pairs(context.answer))),
    }
    yield Score(name="claimed_vs_observed", value=found.agreement, detail=detail)
