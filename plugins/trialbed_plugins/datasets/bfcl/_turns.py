"""The leaderboard's rules of which calls are right in a test set of several turns.

Those of its own checker (``bfcl-eval`` 2026.3.23): after each turn the objects are as the right calls leave them, and
what the right calls of the turn returned is among what the calls so far returned. The calls of a trial are not divided
into turns, as the agent has all requests at once: they are right if they can be divided so that each turn is.
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


def problem_of_turns(start: Mapping[str, Any], right: Sequence[Sequence[str]], calls: Sequence[Call]) -> str:
    """Why calls are wrong; empty if they are right.

    Args:
        start: what the objects of the case begin as.
        right: the right calls of each turn. A turn that has none is not checked.
        calls: what the model called, in its order.
    """
    try:
        turns = [[right_call(text) for text in turn] for turn in right]
    except (TypeError, ValueError, SyntaxError) as error:
        return f"the right calls cannot be read: {error}"
    return _Play(start, calls).problem(turns)


class _Play:
    """Plays the calls of a trial beside the right ones."""

    def __init__(self, start: Mapping[str, Any], calls: Sequence[Call]) -> None:
        self._found, self._right = CaseObjects(start), CaseObjects(start)
        self._left = list(reversed(calls))
        self._responses: Counter[str] = Counter()

    def problem(self, turns: Sequence[Sequence[RightCall]]) -> str:
        """What is wrong with the calls, if each turn ends as early as it can; the last with the last call."""
        for place, turn in enumerate(turns):
            wanted = Counter(self._right.response(name, named, given) for name, given, named in turn)
            if not turn:
                continue
            if not self._left:
                return f"turn {place + 1}: nothing was called"
            problem = self._played(wanted, to_the_end=place + 1 == len(turns))
            if problem:
                return f"turn {place + 1}: {problem}"
        return ""

    def _played(self, wanted: Counter[str], *, to_the_end: bool) -> str:
        problem = ""
        while self._left:
            name, arguments = self._left.pop()
            self._responses[self._found.response(name, arguments)] += 1
            problem = self._problem(wanted)
            if not problem and not to_the_end:
                return ""
        return problem

    def _problem(self, wanted: Counter[str]) -> str:
        differences = list(self._found.differences(self._right))
        if differences:
            return f"{', '.join(differences)} is not as the right calls leave it"
        missing = list((wanted - self._responses).elements())
        return f"nothing returned {missing[0][:200]}" if missing else ""
