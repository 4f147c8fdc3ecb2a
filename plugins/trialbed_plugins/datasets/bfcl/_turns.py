"""The leaderboard's rules of which calls are right in a test set of several turns.

Those of its own checker (``bfcl-eval`` 2026.3.23): after each turn the objects are as the right calls leave them, and
the results of the right calls of the turn are among the results of the calls so far.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from trialbed_plugins.datasets.bfcl._checker import Call
from trialbed_plugins.datasets.bfcl._objects import CaseObjects

RightCall = tuple[str, list[Any], dict[str, Any]]
"""A function's name, the arguments without names, and those with names."""


def right_call(text: str) -> RightCall:
    """A right call, which the leaderboard writes as Python; its arguments are values, and nothing is evaluated.

    Raises:
        TypeError, ValueError, SyntaxError: it is anything else.
    """
    node = ast.parse(text, mode="eval").body
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        raise TypeError(f"{text} is not a call of a function")
    named = {item.arg: ast.literal_eval(item.value) for item in node.keywords if item.arg is not None}
    return node.func.id, [ast.literal_eval(item) for item in node.args], named


def problem_of_turns(start: Mapping[str, Any], right: Sequence[Sequence[str]], made: Sequence[Sequence[Call]]) -> str:
    """Explain why calls are wrong; empty if they are right.

    Args:
        start: the initial state of the objects of the case.
        right: the right calls of each turn. After a turn that has none, nothing is checked.
        made: the model's calls in each turn, in its order. Those after the last turn belong to that.
    """
    try:
        turns = [[right_call(text) for text in turn] for turn in right]
    except (TypeError, ValueError, SyntaxError) as error:
        return f"the right calls cannot be read: {error}"
    if len(made) < len(turns):
        return f"it ended with request {len(made)} of {len(turns)}"
    last = [call for turn in made[len(turns) - 1 :] for call in turn]
    replay = _Replay(start)
    for place, (wanted, found) in enumerate(zip(turns, [*made[: len(turns) - 1], last], strict=True)):
        problem = replay.problem(wanted, found)
        if problem:
            return f"turn {place + 1}: {problem}"
    return ""


class _Replay:
    """Replays the calls of a trial beside the right ones."""

    def __init__(self, start: Mapping[str, Any]) -> None:
        self._found, self._right = CaseObjects(start), CaseObjects(start)
        self._responses: Counter[str] = Counter()

    def problem(self, right: Sequence[RightCall], made: Sequence[Call]) -> str:
        """Explain what makes the calls of the next turn wrong."""
        self._responses.update(self._found.response(name, arguments) for name, arguments in made)
        wanted = Counter(self._right.response(name, named, given) for name, given, named in right)
        if not right:
            return ""
        if not made:
            return "nothing was called"
        differences = list(self._found.differences(self._right))
        if differences:
            return f"{', '.join(differences)} is not as the right calls leave it"
        missing = list((wanted - self._responses).elements())
        return f"nothing returned {missing[0][:200]}" if missing else ""
