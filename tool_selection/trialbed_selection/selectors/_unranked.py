"""Selectors without a ranking, for the query's own Apis, the expected ones, or all of the dataset's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from trialbed.catalogs import ApiCatalog
from trialbed.contracts import ToolSelector
from trialbed.records import Api, ApiRef, Query


class QuerySelector(ToolSelector):
    """The Apis that the query puts on offer, in its order, as StableToolBench does.

    If they are more than ``max_tools``, the expected ones stay and the rest is cut from the end.
    """

    needs_catalog: ClassVar[bool] = False

    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        """Return the query's own Apis."""
        offered = list(dict.fromkeys(api.ref for api in query.apis))
        if len(offered) <= max_tools:
            return offered
        gold = set(query.gold_apis)
        return sorted(offered, key=lambda ref: ref not in gold)[:max_tools]


class GoldSelector(ToolSelector):
    """The expected Apis and nothing else, for an agent that need not choose."""

    needs_catalog: ClassVar[bool] = False

    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        """Return the query's expected Apis in the order of their calls."""
        return query.gold_apis[:max_tools]


class AllSelector(ToolSelector):
    """Every Api of the dataset, in its order, cut at ``max_tools``.

    Expected ones are not preferred: if the dataset has more Apis than ``max_tools``, they may be cut.
    """

    def __init__(self) -> None:
        self._refs: tuple[ApiRef, ...] = ()

    def prepare(self, apis: Sequence[Api]) -> None:
        """Keep the dataset's Apis."""
        self._refs = ApiCatalog.of(apis).refs

    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:  # noqa: ARG002 - all means all
        """Return the first ``max_tools`` Apis of the dataset."""
        return self._refs[:max_tools]
