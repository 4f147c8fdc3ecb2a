"""The helpers of a run, with their access to models and their use of them."""

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
"""The least timeout in seconds of silence for a helper's request, unless the user sets another."""


class Helper(NamedTuple):
    """A helper that asks a model of an endpoint."""

    role: HelperRole
    model: str
    base_url: str


class HelperModels(AbstractAsyncContextManager["HelperModels"]):
    """An async context manager that makes each helper's access to its model, with its own budget and one shared cache.

    Args:
        run: the run of the helpers, which has prices; None outside of a run.
    """

    def __init__(self, settings: RunSettings, run: Run | None = None) -> None:
        self.settings = settings
        self._run = run
        self._cache: CompletionCache | None = None
        self._budgets: dict[tuple[HelperRole, str], ModelBudget] = {}

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the cache of replies."""
        if self._cache is not None:
            self._cache.close()

    def budget(self, role: HelperRole, model: str) -> ModelBudget:
        """Return the budget of a helper's model, which counts all that the helper asks of it."""
        from trialbed.model_access import ModelBudget  # most runs have no helpers

        key = role, model
        if key not in self._budgets:
            self._budgets[key] = ModelBudget(self.settings.max_helper_requests, prices=self.prices(*key))
        return self._budgets[key]

    def access(self, role: HelperRole, endpoint: ModelEndpoint, *, origin: str = "") -> ModelAccess:
        """A helper's access to the model at an endpoint."""
        from trialbed.model_access import CompletionCache, ModelAccess

        settings = self.settings
        self._cache = self._cache or CompletionCache(settings.completions)
        budget = self.budget(role, endpoint.model)
        timeout = settings.helper_timeout or max(settings.timeout, TIMEOUT)
        return ModelAccess(endpoint, budget=budget, cache=self._cache, origin=origin, timeout=timeout)

    def prices(self, role: HelperRole, model: str) -> Prices | None:
        """Return the prices of a helper's model at the time the run began, else today's."""
        helper = next((own for own in helpers_of(self.settings) if own[:2] == (role, model)), None)
        if helper is None:
            return None
        run = self._run
        found = [use.prices for use in (run.helpers if run else ()) if (use.role, use.model) == (role, model)]
        found.append(given_prices(self.settings.price, self.settings.model[0]).get(model))
        if run and helper.base_url == self.settings.base_url:
            found.append(run.prices.get(model))
        return next(filter(None, found), None) or known_prices(model, helper.base_url)

    def uses(self) -> list[HelperUse]:
        """Return the use by every helper that asked its model anything."""
        return [
            self.use_of(role, model, budget.use)
            for (role, model), budget in self._budgets.items()
            if budget.use.requests or budget.use.cached
        ]

    def use_of(self, role: HelperRole, model: str, use: ModelUse) -> HelperUse:
        """Return a helper's use with its role, model and prices."""
        return HelperUse(role=role, model=model, prices=self.prices(role, model), **dict(use))


def helpers_of(settings: RunSettings) -> Iterator[Helper]:
    """Yield the helpers that ask models of endpoints."""
    for role, _, model in helper_models(settings):
        if role != "judge" or is_at_endpoint(model, settings):
            name, url = split_address(model)
            yield Helper(role, name, url or settings.base_url or "")


def helper_endpoint(model: str, settings: RunSettings) -> ModelEndpoint:
    """Return the endpoint of a helper's model without the gateway, which is its own with its own key, or the run's."""
    name, url = split_address(model)
    variable = settings.api_key_env if url is None else key_variable(settings, url)
    return ModelEndpoint(
        base_url=(url or settings.base_url or "").rstrip("/"),
        api_key=os.environ.get(variable) or "",
        model=name,
        temperature=0.0,
        seed=settings.seed,
    )
