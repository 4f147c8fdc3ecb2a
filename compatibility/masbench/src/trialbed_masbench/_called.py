"""The calls that an answer reports, and their score."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trialbed.answers import FINISH
from trialbed.wire import lenient_json

Pair = tuple[str, str]


def extract_called_apis_from_answer_details(answer: Mapping[str, Any] | Sequence[Any]) -> list[list[str]]:
    """Return the ``[tool_name, api_name]`` of every call that an answer's details report, in order, without ``Finish``.

    As in the original, only nodes of role ``tool`` with JSON text as message count, and what cannot be read is left
    out. Names are split at the first ``_``, or else at the first space, which is right only if the tool's name has
    none.

    Args:
        answer: ``{"answer": {"answer_details": [node, ...]}}``, the inner object alone, or the list of nodes.
    """
    called = (name for name in _names_of(_details(answer), texts_only=True) if name != FINISH)
    return [list(pair) for pair in map(_split, called) if pair is not None]


def calculate_api_call_score(called_apis: Iterable[Sequence[str]], gold_apis: Iterable[Sequence[str]]) -> float:
    """Return the share of the distinct expected Apis that are among the called ones; 0 if no Api is expected.

    Pairs of (tool_name, api_name) are compared unchanged: order, arguments, success, repeats and further calls do
    not matter. The score of a run differs in one case: a query that expects no Api scores 1 there if none was called.
    """
    called, gold = {tuple(pair) for pair in called_apis}, {tuple(pair) for pair in gold_apis}
    return len(called & gold) / len(gold) if gold else 0.0


def has_finish(answer: Mapping[str, Any] | Sequence[Any]) -> bool:
    """Return whether an answer's details have a call of ``Finish``, which is the original's intention.

    (The original looks for the details next to ``answer`` instead of in it, and so never finds any.)
    """
    return any(name == FINISH for name in _names_of(_details(answer), texts_only=False))


def _details(answer: Mapping[str, Any] | Sequence[Any]) -> list[Any]:
    if not isinstance(answer, Mapping):
        return list(answer)
    inner = answer.get("answer")
    details = (inner if isinstance(inner, Mapping) else answer).get("answer_details", [])
    return details if isinstance(details, list) else [details]


def _names_of(details: list[Any], *, texts_only: bool) -> Iterator[str]:
    """Yield the names in the messages of tool nodes, depth first by ``next``."""
    pending = details[::-1]
    while pending:
        node = pending.pop()
        if not isinstance(node, Mapping):
            continue
        message = node.get("message") if node.get("role") == "tool" else None
        if isinstance(message, str):
            message = lenient_json(message)
        elif texts_only:
            message = None
        name = message.get("name") if isinstance(message, Mapping) else None
        if isinstance(name, str) and name:
            yield name
        following = node.get("next")
        pending += following[::-1] if isinstance(following, list) else []


def _split(name: str) -> Pair | None:
    """Split a name in two at its first underscore, else its first space; None if it has neither."""
    for separator in ("_", " "):
        tool_name, found, api_name = name.partition(separator)
        if found:
            return tool_name, api_name
    return None
