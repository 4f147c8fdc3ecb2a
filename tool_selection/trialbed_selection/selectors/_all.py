"""Selectors that do not choose."""

from __future__ import annotations

from collections.abc import Sequence

from trialbed.catalogs import ApiCatalog
from trialbed.contracts import ToolSelector
from trialbed.records import Api, ApiRef, Query


class AllSelector(ToolSelector):
    """Every Api of the dataset, in its order, cut at ``max_tools``.

    Gold is not preferred: where the dataset has more Apis than ``max_tools``, the gold ones may be cut.
    """

    def __init__(self) -> None:
        self._refs: tuple[ApiRef, ...] = ()

    def prepare(self, apis: Sequence[Api]) -> None:
        """Keep the dataset's Apis."""
        self._refs = ApiCatalog.of(apis).refs

    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:  # noqa: ARG002 - all means all
        """The first ``max_tools`` Apis of the dataset."""
        return self._refs[:max_tools]
