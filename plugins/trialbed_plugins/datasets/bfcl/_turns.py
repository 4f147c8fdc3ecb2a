"""The leaderboard's rules for right calls in test sets with several turns.

They match its own checker (``bfcl-eval`` 2026.3.23). After each turn, the objects must equal the objects after the
right calls, and the results so far must include the results of the turn's right calls.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from trialbed_plugins.datasets.bfcl._checker import Call
from trialbed_plugins.datasets.bfcl._objects import CaseObjects

RightCall = tuple[str, dict[str, Any], list[Any]]
"""A function's name, the keyword arguments and the positional ones."""


def right_call(text: str) -> RightCall:
    """Parse a right call, which the leaderboard writes as Python. Its arguments are literals; nothing is evaluated.

    Raises:
        TypeError, ValueError, SyntaxError: the text is not such a call.
    """
    node = ast.parse(text, mode="eval").body
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise TypeError(f"{text} is not a call of a function")
    named = {item.arg: ast.literal_eval(item.value) for item in node.keywords if item.arg is not None}
    return node.func.id, named, [ast.literal_eval(item) for item in node.args]


def problem_of_turns(start: Mapping[str, Any], right: Sequence[Sequence[str]], made: Sequence[Sequence[Call]]) -> str:
    """Explain why calls are wrong; empty if they are right.

    Args:
        start: the initial state of the objects of the case.
        right: the right calls of each turn. Turns without any are not checked.
        made: the model's calls in each turn, in order.
    """
    try:
        turns = [[right_call(text) for text in turn] for turn in right]
    except (TypeError, ValueError, SyntaxError) as error:
        return f"the right calls cannot be read: {error}"
    if len(made) < len(turns):
        return f"it ended with request {len(made)} of {len(turns)}"
    found, expected = CaseObjects(start), CaseObjects(start)
    responses: Counter[str] = Counter()
    for place, (wanted, calls) in enumerate(zip(turns, made, strict=True), 1):
        responses.update(found.response(name, arguments) for name, arguments in calls)
        missing = list((Counter(expected.response(*call) for call in wanted) - responses).elements())
        if not wanted:
            continue
        if not calls:
            return f"turn {place}: nothing was called"
        if differences := list(found.differences(expected)):
            return f"turn {place}: {', '.join(differences)} is not as the right calls leave it"
        if missing:
            return f"turn {place}: nothing returned {missing[0][:200]}"
    return ""
