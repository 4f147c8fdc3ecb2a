"""Two trials of one query side by side."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Any

from trialbed.records import Query
from trialbed.report import trial_name
from trialbed.report.inspection import Exchange, ToolExchange, api_name, as_text, exchanges, problems
from trialbed.store import StoredRun, StoredTrial
from trialbed_pages.runs.trial import begin_of, shown, timeline

Step = tuple[str, str]
"""What kind of exchange it is and of what, and what was said in it: alike where the first is, same where both are."""


def pair_page(run: StoredRun, left: StoredTrial, right: StoredTrial, query: Query | None) -> dict[str, Any]:
    """What the page of two trials shows: their exchanges aligned, with what differs marked.

    Args:
        query: their task, where that is known.
    """
    sides = []
    for trial in (left, right):
        result = trial.result
        sides.append(
            {
                "trial": trial,
                "result": result,
                "label": trial_name(trial.key.framework, trial.key.query_id, trial.key.repeat),
                "answer": result.outcome.answer,
                "problems": problems(result, run.tools(trial.key.query_id), query),
                "timeline": timeline(result, exchanges(result.wire)),
            }
        )
    ours, theirs = exchanges(left.wire), exchanges(right.wire)
    begins = begin_of(left.result, ours), begin_of(right.result, theirs)
    rows = aligned(ours, theirs, begins)
    return {"run": run, "query": query, "sides": sides, "rows": rows, "scores": _scores(left, right)}


def aligned(
    ours: Sequence[Exchange], theirs: Sequence[Exchange], begins: tuple[float, float] = (0.0, 0.0)
) -> list[dict[str, Any]]:
    """Rows of two exchanges each, where either may be missing, and whether they say the same.

    Args:
        begins: seconds from the beginning of each agent to its first exchange.
    """
    kinds = [_step(one)[0] for one in ours], [_step(one)[0] for one in theirs]
    rows = []
    for _, a, b, c, d in SequenceMatcher(None, *kinds, autojunk=False).get_opcodes():
        for place in range(max(b - a, d - c)):
            left = ours[a + place] if a + place < b else None
            right = theirs[c + place] if c + place < d else None
            same = left is not None and right is not None and _step(left) == _step(right)
            sides = left and shown(left, begins[0]), right and shown(right, begins[1])
            rows.append({"left": sides[0], "right": sides[1], "same": same})
    return rows


def _step(one: Exchange) -> Step:
    if isinstance(one, ToolExchange):
        return f"call of {api_name(one.call)}", f"{as_text(one.call.arguments)} {one.call.error}"
    asked = "; ".join(f"{sent.tool_name} {sent.arguments}" for sent in one.call.tool_calls)
    return "request", f"{one.call.status} {one.text} {asked}"


def _scores(left: StoredTrial, right: StoredTrial) -> list[tuple[str, float | None, float | None]]:
    names = dict.fromkeys(score.name for score in (*left.scores, *right.scores))
    return [(name, _value(left, name), _value(right, name)) for name in names]


def _value(trial: StoredTrial, name: str) -> float | None:
    score = trial.score(name)
    return score.value if score else None
