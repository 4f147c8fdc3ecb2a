"""The selection stage: a selector's choice as the tools of a trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trialbed.contracts import SelectionStage, ToolSelector
from trialbed.errors import DataError
from trialbed.records import Api, ApiRef, Query, ToolSpec
from trialbed_selection.choices import choose
from trialbed_selection.tools import Catalog


class Stage:
    """Tools for the queries of one dataset.

    Attributes:
        names: the tool name of every Api of the dataset.
    """

    def __init__(self, apis: Sequence[Api]) -> None:
        self._catalog = Catalog(apis)
        self.names: Mapping[ApiRef, str] = self._catalog.names

    def tools(self, query: Query, selector: ToolSelector, *, max_tools: int) -> tuple[ToolSpec, ...]:
        """The tools for this query, at most ``max_tools``, sorted by name.

        Args:
            selector: one that has learnt the dataset's Apis (``prepare``).

        Raises:
            DataError: the selector chose an Api that neither the dataset nor the query has.
        """
        choices = list({choice.api: choice for choice in choose(selector, query, max_tools)}.values())[:max_tools]
        try:
            tools = self._catalog.specs([choice.api for choice in choices], query.apis)
        except KeyError as error:
            raise DataError(
                f"{type(selector).__name__} chose {error.args[0]!r} for query {query.query_id!r}, which is in neither "
                "the dataset nor the query; a selector must return identities of the Apis that it was given"
            ) from error
        filled = {choice.api for choice in choices if choice.topped_up}
        return tuple(tool.model_copy(update={"topped_up": True}) if tool.api in filled else tool for tool in tools)


def open_selection(apis: Sequence[Api]) -> SelectionStage:
    """A selection stage over a dataset's Apis."""
    return Stage(apis)
