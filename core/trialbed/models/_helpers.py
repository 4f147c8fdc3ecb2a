"""The helpers of a run: their access to their models, and the use that they make of it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, NamedTuple

from trialbed.models._settings import helper_models, is_at_endpoint
from trialbed.prices import given_prices, known_prices
from trialbed.records import HelperRole, HelperUse, ModelEndpoint, ModelUse, Prices, Run
from trialbed.settings import RunSettings, key_variable
from trialbed.wire.addresses import split_address

if TYPE_CHECKING:
    from trialbed.model_access import CompletionCache, ModelAccess, ModelBudget

TIMEOUT = 300.0
"""Seconds of silence that a helper's request may take at least, where the user says nothing else."""


class Helper(NamedTuple):
    """A helper that asks a model of an endpoint."""

    role: HelperRole
    model: str
    base_url: str


class HelperModels(AbstractAsyncContextManager["HelperModels"]):
    """An async context manager that makes each helper's access to its model: a budget of its own, and one cache.

    Args:
        run: whose helpers they are, which has prices; None outside of a run.
    """

    def __init__(self, settings: RunSettings, run: Run | None = None) -> None:
        self.settings = settings
        self._run = run
        self._cache: CompletionCache | None = None
        self._budgets: dict[tuple[HelperRole, str, str], ModelBudget] = {}

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the cache of replies."""
        if self._cache is not None:
            self._cache.close()

    def budget(self, role: HelperRole, model: str, base_url: str = "") -> ModelBudget:
        """Return the budget of a helper's model, which counts all that the helper asks of it at one endpoint."""
        from trialbed.model_access import ModelBudget  # most runs have no helpers

        named = self._named(role, model, base_url)
        key = role, model, named[0].base_url if named else ""
        if key not in self._budgets:
            self._budgets[key] = ModelBudget(self.settings.max_helper_requests, prices=self.prices(*key))
        return self._budgets[key]

    def access(self, role: HelperRole, endpoint: ModelEndpoint, *, origin: str = "") -> ModelAccess:
        """A helper's access to the model at an endpoint."""
        from trialbed.model_access import CompletionCache, ModelAccess

        settings = self.settings
        self._cache = self._cache or CompletionCache(settings.completions)
        budget = self.budget(role, endpoint.model, endpoint.base_url)
        timeout = settings.helper_timeout or max(settings.timeout, TIMEOUT)
        return ModelAccess(endpoint, budget=budget, cache=self._cache, origin=origin, timeout=timeout)

    def _named(self, role: HelperRole, model: str, base_url: str) -> list[Helper]:
        """Return the helpers of a name, the one at this endpoint first: the gateway may ask it at another."""
        named = [own for own in helpers_of(self.settings) if own[:2] == (role, model)]
        return sorted(named, key=lambda own: own.base_url.rstrip("/") != base_url.rstrip("/"))

    def prices(self, role: HelperRole, model: str, base_url: str = "") -> Prices | None:
        """The prices of a helper's model: those that the run began with, else those of today."""
        named = self._named(role, model, base_url)
        if not named:
            return None
        helper = named[0]
        run, here = self._run, helper.base_url == self.settings.base_url
        # A use that is kept names no endpoint: where two have a model of this name, its prices may be the other's.
        alone = len({own.base_url for own in named}) == 1
        kept = run.helpers if run and alone else ()
        found = [use.prices for use in kept if (use.role, use.model) == (role, model)]
        found.append(given_prices(self.settings.price, self.settings.model[0]).get(model))
        if run and here:
            found.append(run.prices.get(model))
        return next(filter(None, found), None) or known_prices(model, helper.base_url)

    def uses(self) -> list[HelperUse]:
        """All that helpers have asked through this, as far as they asked anything."""
        return [
            self.use_of(role, model, budget.use, base_url)
            for (role, model, base_url), budget in self._budgets.items()
            if budget.use.requests or budget.use.cached
        ]

    def use_of(self, role: HelperRole, model: str, use: ModelUse, base_url: str = "") -> HelperUse:
        """Return a use as that of a helper."""
        return HelperUse(role=role, model=model, prices=self.prices(role, model, base_url), **dict(use))


def helpers_of(settings: RunSettings) -> Iterator[Helper]:
    """Yield the helpers that ask models of endpoints."""
    for role, _, model in helper_models(settings, settings.judge):
        if role != "judge" or is_at_endpoint(model, settings):
            name, url = split_address(model)
            yield Helper(role, name, url or settings.base_url or "")


def helper_endpoint(model: str, settings: RunSettings) -> ModelEndpoint:
    """The endpoint of a helper's model, without the gateway: the one that it names, with its own key, or the run's."""
    name, url = split_address(model)
    variable = settings.api_key_env if url is None else key_variable(settings, url)
    return ModelEndpoint(
        base_url=(url or settings.base_url or "").rstrip("/"),
        api_key=os.environ.get(variable) or "",
        model=name,
        temperature=0.0,
        seed=settings.seed,
    )
