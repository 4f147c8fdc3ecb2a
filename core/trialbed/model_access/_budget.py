"""Budgets of helpers, with the most that each may ask its model, and its use so far."""

from __future__ import annotations

from threading import Lock

from trialbed.errors import ModelUnavailable
from trialbed.records import ModelUse, Prices, Usage
from trialbed.texts import number_of


class ModelBudget:
    """The most that may be asked of a model; safe to share between threads.

    Args:
        requests: the most requests; None for any number.
        prices: of the model's tokens, if they are known.
    """

    def __init__(
        self,
        requests: int | None = None,
        *,
        prices: Prices | None = None,
    ) -> None:
        self.requests = requests
        self._prices = prices
        self._use = ModelUse()
        self._lock = Lock()

    @property
    def use(self) -> ModelUse:
        """The requests so far."""
        return self._use

    def take_request(self) -> None:
        """Count a request that is about to be sent.

        Raises:
            ModelUnavailable: the budget is used up.
        """
        with self._lock:
            if self.requests is not None and self._use.requests >= self.requests:
                raise ModelUnavailable(
                    f"the budget of {number_of(self.requests, 'request')} is used up; raise --max-helper-requests, or "
                    "leave it out"
                )
            self._use = self._use.model_copy(update={"requests": self._use.requests + 1})

    def add_tokens(self, usage: Usage) -> None:
        """Count the tokens of an answer."""
        cost = None if self._prices is None else self._prices.cost(usage)
        with self._lock:
            use = self._use
            total = use.cost if cost is None else (use.cost or 0.0) + cost
            self._use = use.model_copy(update={"usage": use.usage + usage, "cost": total})

    def add_unreported(self) -> None:
        """Count an answer without a reported number of tokens."""
        with self._lock:
            self._use = self._use.model_copy(update={"unreported": self._use.unreported + 1})

    def add_cached(self) -> None:
        """Count a reply that came from the cache."""
        with self._lock:
            self._use = self._use.model_copy(update={"cached": self._use.cached + 1})
