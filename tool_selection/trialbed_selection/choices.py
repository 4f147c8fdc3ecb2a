"""The choices of a selector, with their reasons."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

from trialbed.contracts import ToolSelector
from trialbed.errors import UsageError
from trialbed.records import ApiRef, Query, Record


class ChosenApi(Record):
    """An Api that a selector chose.

    Attributes:
        api: its identity.
        by: what chose it: ``words``, ``meaning``, ``both`` or ``model``.
        score: how well it fits, in units of ``by``'s own; None if only the order is known.
        topped_up: whether it fills up a choice of a model that was too short.
    """

    api: ApiRef
    by: str
    score: float | None = None
    topped_up: bool = False


class ExplainedSelector(ToolSelector):
    """A selector that says why it chose."""

    @abstractmethod
    def choices(self, query: Query, *, max_tools: int) -> list[ChosenApi]:
        """Return at most ``max_tools`` choices, best first, each Api once."""

    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        """Return the Apis of the choices."""
        return [choice.api for choice in self.choices(query, max_tools=max_tools)]


def choose(selector: ToolSelector, query: Query, max_tools: int) -> list[ChosenApi]:
    """Ask a selector for its choice, best first, each Api once. The reason is the selector's class unless it gives one.

    Raises:
        UsageError: it gives something else than identities of Apis.
    """
    if isinstance(selector, ExplainedSelector):
        return selector.choices(query, max_tools=max_tools)
    refs = list(selector.select(query, max_tools=max_tools))
    if wrong := [ref for ref in refs if not isinstance(ref, ApiRef)]:
        title, given = type(selector).__name__, type(wrong[0]).__name__
        raise UsageError(f"{title}.select must return a list of ApiRef, such as api.ref, not of {given}")
    refs = list(dict.fromkeys(refs))[:max_tools]
    return [ChosenApi(api=ref, by=type(selector).__name__) for ref in refs]


def explain_choices(selector: ToolSelector, query: Query, max_tools: int) -> dict[str, Any]:
    """Return a selector's choices for a query with rank and reason, and the expected Apis that are missing."""
    choices = choose(selector, query, max_tools)
    gold = set(query.gold_apis)
    offered = {choice.api for choice in choices}
    return {
        "query_id": query.query_id,
        "query": query.text,
        "choices": [
            {"rank": rank, **choice.api.model_dump(), "gold": choice.api in gold, **choice.model_dump(exclude={"api"})}
            for rank, choice in enumerate(choices, 1)
        ],
        "missed": [[ref.category, ref.tool_name, ref.api_name] for ref in query.gold_apis if ref not in offered],
    }
