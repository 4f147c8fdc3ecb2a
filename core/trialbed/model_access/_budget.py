"""Budgets of helpers: how much each may ask its model, and how much it did."""

from __future__ import annotations

from threading import Lock

from trialbed.errors import ModelUnavailable
from trialbed.records import Record


class ModelUse(Record):
    """The requests and tokens that were asked of a model.

    Attributes:
        requests: requests sent, repetitions of failed ones left out.
        cached: replies that were found in the cache instead.
        tokens: prompt and completion tokens of the requests, as the endpoint reports them.
    """

    requests: int = 0
    cached: int = 0
    tokens: int = 0


class ModelBudget:
    """The most that may be asked of a model; safe to share between threads.

    Args:
        requests: the most requests; None for any number.
        tokens: the number of tokens after which no request is sent; None for any number.
    """

    def __init__(self, requests: int | None = None, tokens: int | None = None) -> None:
        self.requests = requests
        self.tokens = tokens
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
                    f"the budget of {self.requests} requests is used up; raise --max-helper-requests, or leave it out"
                )
            if self.tokens is not None and self._use.tokens >= self.tokens:
                raise ModelUnavailable(
                    f"the budget of {self.tokens} tokens is used up; raise --max-helper-tokens, or leave it out"
                )
            self._use = self._use.model_copy(update={"requests": self._use.requests + 1})

    def add_tokens(self, count: int) -> None:
        """Count the tokens of a request that was answered."""
        with self._lock:
            self._use = self._use.model_copy(update={"tokens": self._use.tokens + count})

    def add_cached(self) -> None:
        """Count a reply that came from the cache."""
        with self._lock:
            self._use = self._use.model_copy(update={"cached": self._use.cached + 1})
