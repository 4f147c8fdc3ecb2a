"""The perfect choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from trialbed.contracts import ToolSelector
from trialbed.records import ApiRef, Query


class GoldSelector(ToolSelector):
    """The gold Apis and nothing else: what an agent does when it need not choose."""

    needs_catalog: ClassVar[bool] = False

    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        """The query's gold Apis, in the order in which they solve it."""
        return query.gold_apis[:max_tools]
