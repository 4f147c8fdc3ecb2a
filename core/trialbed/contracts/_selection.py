"""The selection stage, as the engine uses it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from trialbed.contracts._selector import ToolSelector
from trialbed.records import Api, ApiRef, Query, ToolSpec


class SelectionStage(Protocol):
    """Turns what a selector chose into tools: unique model-safe names, schemas, one order for all frameworks."""

    names: Mapping[ApiRef, str]
    """The tool name of every Api of the dataset."""

    def tools(self, query: Query, selector: ToolSelector, *, max_tools: int) -> tuple[ToolSpec, ...]:
        """The tools for this query, sorted by name."""


class SelectionFactory(Protocol):
    """What the component ``selection`` provides as ``open_selection``."""

    def __call__(self, apis: Sequence[Api]) -> SelectionStage:
        """A stage over a dataset's Apis."""
