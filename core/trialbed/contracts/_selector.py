"""The contract of a tool selector."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from trialbed.records import Api, ApiRef, Query


class ToolSelector(ABC):
    """Chooses which Apis an agent is offered for a query.

    A driver of the group ``trialbed.selectors`` is a subclass that takes no arguments. One instance serves a
    whole run, so it may index the catalog once, in ``prepare``.
    """

    def prepare(self, apis: Sequence[Api]) -> None:  # noqa: B027 - most selectors need no index
        """Learn the dataset's Apis, once, before the first ``select``."""

    @abstractmethod
    def select(self, query: Query, *, max_tools: int) -> Sequence[ApiRef]:
        """At most ``max_tools`` identities, best first, each once, all of Apis given to ``prepare`` or of the query."""
