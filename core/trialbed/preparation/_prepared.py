"""The parts of a run that are made before its first trial."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trialbed.agent_programs import AgentCommand
from trialbed.catalogs import ApiCatalog
from trialbed.contracts import Dataset
from trialbed.models import CacheChoice
from trialbed.preparation._options import NO_OBJECTS, RunObjects, RunOptions
from trialbed.records import Api, Query, RunConfig


@dataclass(frozen=True)
class Prepared:
    """The parts of a run that do not depend on the server or the workers.

    Attributes:
        catalog: the Apis that the selector chooses from; None if it needs none.
        objects: the parts of it that are objects of this process.
        caches: model -> what keeps its answers; None for nothing.
        notes: for the user, before the first trial, a sentence each.
    """

    options: RunOptions
    dataset: Dataset
    queries: Sequence[Query]
    config: RunConfig
    commands: Mapping[str, AgentCommand] = field(default_factory=dict)
    catalog: ApiCatalog | None = None
    objects: RunObjects = NO_OBJECTS
    caches: Mapping[str, CacheChoice | None] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def cache(self) -> CacheChoice | None:
        """The one file in which the answers of its models are kept; None where none are."""
        return next((cache for cache in self.caches.values() if cache is not None), None)

    @property
    def cached_as(self) -> dict[str, str]:
        """The identities of the models whose answers are kept."""
        return {model: cache.identity for model, cache in self.caches.items() if cache is not None}

    @property
    def simulator(self) -> str:
        """The simulator that answers for Apis which nothing of this process answers for."""
        chosen = self.objects.simulator
        return chosen if isinstance(chosen, str) else self.dataset.simulator

    def apis(self) -> Sequence[Api]:
        """The Apis that may be offered."""
        return self.dataset.apis() if self.catalog is None else self.catalog
