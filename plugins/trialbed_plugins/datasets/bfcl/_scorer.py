"""The leaderboard's verdict on the calls of a trial."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Any, cast

from trialbed.hook_markers import hookimpl
from trialbed.records import Score, ScoreDescription
from trialbed.scoring import ScoreContext
from trialbed.wire_log import limit_text

if TYPE_CHECKING:
    from trialbed_plugins.datasets.bfcl._checker import Call

SCORE = "bfcl_correct"
INSTEAD = ("error", "server_error", "rate_limit", "hang")
"""Deliberate faults that replace an answer."""

NUMBER = re.compile(r"_\d+(-\d+-\d+)?$")
"""The part of a case's id after the test set's name."""


@hookimpl
def describe_scores() -> list[ScoreDescription]:
    return [ScoreDescription(SCORE, meaning="the model asked for the right calls and no others", leads=True)]


@hookimpl
async def score_trial(context: ScoreContext) -> list[Score]:
    """``bfcl_correct`` of trials over its test sets: 1 if the model asked for the right calls and no others."""
    query = context.query
    if not NUMBER.search(str(query.query_id)):
        return []
    # Every run loads its scorers, and few are about this dataset.
    from trialbed_plugins.datasets.bfcl._driver import CATEGORIES, CATEGORY, TURNS, data_folder, read_rows

    category = NUMBER.sub("", str(query.query_id))
    if category not in (*CATEGORIES, *TURNS) or any(api.category != CATEGORY for api in query.apis):
        return []
    folder = data_folder()  # this searches the disk, so it comes last
    row = None if folder is None else read_rows(folder, category).get(str(query.query_id))
    if row is None:
        return []
    from trialbed_plugins.datasets.bfcl._checker import problem_of
    from trialbed_plugins.datasets.bfcl._driver import function_called, start_of
    from trialbed_plugins.datasets.bfcl._objects import problem_of_turns

    if category in TURNS:
        wires = [context.of_turn(number) for number in range(1, len(context.wire.turns) + 1)]
        turns = [[function_called(*call) for call in _made_calls(turn)] for turn in wires]
        problem = await asyncio.to_thread(problem_of_turns, start_of(row), row.get("answers", ()), turns)
        problem = "; ".join(filter(None, (problem, problem and limit_text(context.wire))))
    else:
        problem = problem_of(category, row["function"], row.get("answers", ()), _asked_calls(context))
    return [Score(name=SCORE, value=0.0 if problem else 1.0, detail={"problem": problem})]


def _asked_calls(context: ScoreContext) -> list[Call]:
    names = {tool.name: tool.api.api_name for tool in context.tools}
    return [
        (call.api.api_name if call.api else names.get(call.name, call.name), cast("Any", call.arguments))
        for call in context.asked
    ]


def _made_calls(context: ScoreContext) -> list[Call]:
    """Return the calls that reached the objects, in the model's order.

    If a deliberate fault replaced an answer, its call did not reach them.
    """
    kept_off = {call.started for call in context.wire.api_calls if call.fault in INSTEAD}
    return [
        (call.api.api_name, call.arguments)
        for call in context.asked
        if call.reached and call.api and isinstance(call.arguments, dict) and call.started not in kept_off
    ]
