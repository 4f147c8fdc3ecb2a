"""The prices of a model's tokens, and the most that a run may use."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from trialbed.records._base import Record
from trialbed.records._models import Usage

MILLION = 1_000_000


class TokenRate(Record):
    """Prices in US dollars for a million tokens.

    Attributes:
        above: the tokens that a prompt must have more of, for these prices to be its request's.
        cached: of the tokens of a prompt that the endpoint had in its cache; None where they cost as the others do.
    """

    above: int = 0
    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class Prices(Record):
    """The prices of a model, as they were known when its run began.

    Attributes:
        rates: by the length of the prompt, ascending; the first is for every length.
        source: where they come from, with its version.
    """

    rates: tuple[TokenRate, ...] = Field(min_length=1)
    source: str

    def cost(self, usage: Usage) -> float:
        """Return the cost of one request in US dollars.

        Reasoning tokens are output; the price of a long prompt is that of all its tokens.
        """
        rate = next(rate for rate in reversed(self.rates) if usage.prompt_tokens > rate.above or not rate.above)
        cached = rate.input if rate.cached is None else rate.cached
        fresh = usage.prompt_tokens - usage.cached_tokens
        return (fresh * rate.input + usage.cached_tokens * cached + usage.completion_tokens * rate.output) / MILLION


class Budget(Record):
    """The most that the trials of a run and its helpers may use of their models.

    Attributes:
        limit: in US dollars, or in tokens of requests and answers.
        spent: what earlier sessions of the run have used.
        prices: of the model, where the limit is in US dollars.
        model: its name; requests of trials to models that are not the run's do not count.
        others: the run's other models, with their prices where the limit is in US dollars.
    """

    limit: float = Field(gt=0, allow_inf_nan=False)
    unit: Literal["USD", "tokens"]
    spent: float = 0.0
    prices: Prices | None = None
    model: str = ""
    others: dict[str, Prices | None] = Field(default={})

    def is_for(self, model: str) -> bool:
        """Return whether requests to a model count."""
        return model == self.model or model in self.others

    def amount(self, usage: Usage, model: str = "") -> float:
        """Return the part of the budget that one request uses.

        Args:
            model: its model, where that is not the first of the run.
        """
        prices = self.others.get(model, self.prices)
        return float(usage.total_tokens) if prices is None else prices.cost(usage)

    def helpers_part(self, usage: Usage, cost: float | None) -> float:
        """Return the part of the budget that an answer to a helper uses; none where its price is not known."""
        return float(usage.total_tokens) if self.unit == "tokens" else cost or 0.0

    def text_of(self, amount: float) -> str:
        """Return an amount in words."""
        form = ".2f" if amount >= 0.1 or not amount else ".3g"
        return f"{amount:{form}} USD" if self.unit == "USD" else f"{amount:,.0f} tokens"
