"""Why a selector chose what it chose."""

from __future__ import annotations

from typing import Any

from trialbed.contracts import ToolSelector
from trialbed.records import Query
from trialbed_selection.choices import chosen


def explained(selector: ToolSelector, query: Query, max_tools: int) -> dict[str, Any]:
    """A selector's choices for a query, each with its rank and reason, and the gold Apis that are missing."""
    choices = chosen(selector, query, max_tools)
    gold = set(query.gold_apis)
    offered = {choice.api for choice in choices}
    return {
        "query_id": query.query_id,
        "query": query.text,
        "choices": [
            {
                "rank": place + 1,
                **choice.api.model_dump(),
                "gold": choice.api in gold,
                **choice.model_dump(exclude={"api"}),
            }
            for place, choice in enumerate(choices)
        ],
        "missed": [[ref.category, ref.tool_name, ref.api_name] for ref in query.gold_apis if ref not in offered],
    }
