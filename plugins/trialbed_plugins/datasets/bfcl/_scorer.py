"""The leaderboard's verdict on the calls of a trial."""

from __future__ import annotations

import re
from collections.abc import Iterable

from trialbed.hookspecs import hookimpl
from trialbed.records import Score
from trialbed.results import asked_calls
from trialbed.scoring import ScoreContext
from trialbed_plugins.datasets.bfcl._checker import problem_of
from trialbed_plugins.datasets.bfcl._source import CATEGORIES, CATEGORY, data_folder, read_rows

SCORE = "bfcl_correct"
NUMBER = re.compile(r"_\d+(-\d+-\d+)?$")
"""What follows the test set's name in the id of a case."""


@hookimpl
def declare_scores() -> Iterable[str]:
    """The leaderboard's score."""
    return (SCORE,)


@hookimpl
async def score_trial(context: ScoreContext) -> list[Score]:
    """``bfcl_correct`` of trials over its test sets: 1 if the model asked for the right calls and no others."""
    query = context.query
    category = NUMBER.sub("", str(query.query_id))
    folder = data_folder()
    if folder is None or category not in CATEGORIES or any(api.category != CATEGORY for api in query.apis):
        return []
    row = read_rows(folder, category).get(str(query.query_id))
    if row is None:
        return []
    names = {tool.name: tool.api.api_name for tool in context.tools}
    calls = [
        (call.api.api_name if call.api else names.get(call.name, call.name), call.arguments)
        for call in asked_calls(context.wire, context.tools, context.unasked)
    ]
    problem = problem_of(category, row["function"], row.get("answers", ()), calls)
    return [Score(name=SCORE, value=0.0 if problem else 1.0, detail={"problem": problem})]
