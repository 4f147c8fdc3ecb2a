"""The contract of a tool selector, and the selection stage as the engine uses it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol

from trialbed.records import Api, ApiRef, Query, ToolSpec

if TYPE_CHECKING:
    from trialbed.model_access import ModelAccess


class ToolSelector(ABC):
    """Chooses which Apis an agent is offered for a query.

    A driver of the group ``trialbed.selectors`` is a subclass that takes no arguments. One instance serves a
    whole run, so it may index the catalog once, in ``prepare``.

    Class attributes:
        needs_model: whether it is of no use without a model.
        needs_catalog: whether it chooses from the catalog; False if it knows the query's own Apis only.
        model: the model that it may ask (``--selector-model``), set before ``prepare``; None if the user names none.
            ``select`` runs outside of the event loop, and asks with ``model.ask_blocking``.
    """

    needs_model: ClassVar[bool] = False
    needs_catalog: ClassVar[bool] = True
    model: ModelAccess | None = None

    def prepare(self, apis: Sequence[Api]) -> None:  # noqa: B027 - most selectors need no index
        """Learn the catalog, once, before the first ``select``.

        Args:
            apis: the Apis of the dataset and of ``--catalog``, each identity once. They may be a
                ``trialbed.catalogs.ApiCatalog``, which reads an Api when it is asked for.
        """

    @abstractmethod
    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        """At most ``max_tools`` identities, best first, each once, all of Apis given to ``prepare`` or of the query."""


class SelectionStage(Protocol):
    """Turns a selector's choice into tools, with unique model-safe names, schemas, and one order for all frameworks.

    The component ``selection`` opens one over a catalog, with ``open_selection(apis)``.
    """

    names: Mapping[ApiRef, str]
    """The tool name of every Api of the catalog."""

    def tools(self, query: Query, selector: ToolSelector, *, max_tools: int) -> tuple[ToolSpec, ...]:
        """Return the tools for this query, sorted by name."""
