"""The query's own choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from trialbed.contracts import ToolSelector
from trialbed.records import ApiRef, Query


class QuerySelector(ToolSelector):
    """The Apis that the query puts on offer, in its order, as StableToolBench does.

    Where they are more than ``max_tools``, the gold ones stay and the rest is cut from the end.
    """

    needs_catalog: ClassVar[bool] = False

    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        """The query's own Apis."""
        offered = list(dict.fromkeys(api.ref for api in query.apis))
        if len(offered) <= max_tools:
            return offered
        gold = set(query.gold_apis)
        return sorted(offered, key=lambda ref: ref not in gold)[:max_tools]
