"""The models that help a run: those of its selector and its judge, and how much they may be asked."""

from __future__ import annotations

import os
from typing import Self

from trialbed.model_access import CompletionCache, ModelAccess, ModelBudget
from trialbed.records import ModelEndpoint
from trialbed.settings import RunSettings


class HelperModels:
    """An async context manager that makes each helper's access to its model: a budget of its own, and one cache."""

    def __init__(self, settings: RunSettings) -> None:
        self.settings = settings
        self._cache = CompletionCache(settings.completions)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the cache of replies."""
        self._cache.close()

    def selector(self) -> ModelAccess | None:
        """The selector's access; None if the user names no model for it."""
        settings = self.settings
        if settings.selector_model is None:
            return None
        endpoint = direct_endpoint(
            settings.base_url or "", settings.selector_model, settings.api_key_env, settings.seed
        )
        return self.access(endpoint)

    def embedding(self) -> ModelEndpoint | None:
        """Where the selector's embeddings come from; None if the user names no model for them."""
        settings = self.settings
        if settings.embedding_model is None:
            return None
        return direct_endpoint(settings.base_url or "", settings.embedding_model, settings.api_key_env, settings.seed)

    def access(self, endpoint: ModelEndpoint, *, origin: str = "") -> ModelAccess:
        """A helper's access to the model at an endpoint."""
        budget = ModelBudget(self.settings.max_helper_requests, self.settings.max_helper_tokens)
        timeout = self.settings.helper_timeout or max(self.settings.timeout, TIMEOUT)
        return ModelAccess(endpoint, budget=budget, cache=self._cache, origin=origin, timeout=timeout)


TIMEOUT = 300.0
"""Seconds of silence that a helper's request may take at least, where the user says nothing else."""


def direct_endpoint(base_url: str, model: str, key_variable: str, seed: int) -> ModelEndpoint:
    """An endpoint that is asked without the gateway, with the key of this variable."""
    key = os.environ.get(key_variable) or ""
    return ModelEndpoint(base_url=base_url.rstrip("/"), api_key=key, model=model, temperature=0.0, seed=seed)
