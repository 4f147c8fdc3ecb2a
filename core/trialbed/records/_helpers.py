"""The use that the helpers of a run make of their models, and the budget of all."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from pydantic import Field

from trialbed.records._base import Record
from trialbed.records._models import Usage
from trialbed.records._prices import Prices

HelperRole = Literal["judge", "selector", "simulator", "user"]


class ModelUse(Record):
    """Requests to a model, and their tokens and cost.

    Attributes:
        requests: how many were sent, without repetitions of failed ones.
        cached: replies from earlier requests, which cost nothing.
        unreported: answers without reported tokens.
        usage: the tokens that the endpoint reported.
        cost: their price in US dollars, None if no price is known.
    """

    requests: int = 0
    cached: int = 0
    unreported: int = 0
    usage: Usage = Usage()
    cost: float | None = None

    @property
    def tokens(self) -> int:
        """Prompt and completion tokens together."""
        return self.usage.total_tokens


class HelperUse(ModelUse):
    """The use that a helper of a run has made of its model.

    Attributes:
        role: the helper.
        model: the name of its model.
        prices: of the model, at the time of the first request; None if they are not known.
    """

    role: HelperRole
    model: str
    prices: Prices | None = None

    def __add__(self, other: ModelUse) -> HelperUse:
        added = ("requests", "cached", "unreported", "usage")
        total: dict[str, Any] = {name: getattr(self, name) + getattr(other, name) for name in added}
        costs = [use.cost for use in (self, other) if use.cost is not None]
        return self.model_copy(update=total | {"cost": sum(costs) if costs else None})


def added_uses(before: Iterable[HelperUse], more: Iterable[HelperUse]) -> tuple[HelperUse, ...]:
    """Return the uses of several sessions, added up by role and model."""
    found: dict[tuple[str, str], HelperUse] = {}
    for use in (*before, *more):
        key = use.role, use.model
        found[key] = found[key] + use if key in found else use
    return tuple(found.values())


class Budget(Record):
    """The most that the trials of a run and its helpers may use of their models.

    Attributes:
        limit: in US dollars, or in tokens of requests and answers.
        prices: of the first model, if the limit is in US dollars.
        others: the run's other models, with their prices if the limit is in US dollars.
    """

    limit: float = Field(gt=0, allow_inf_nan=False)
    unit: Literal["USD", "tokens"]
    prices: Prices | None = None
    others: dict[str, Prices | None] = Field(default={})

    def amount(self, usage: Usage, model: str = "") -> float:
        """Return the part of the budget that one request uses.

        Args:
            model: its model, if that is not the first of the run.
        """
        prices = self.others.get(model, self.prices)
        return float(usage.total_tokens) if prices is None else prices.cost(usage)

    def helpers_part(self, use: ModelUse) -> float:
        """Return the part of the budget that a helper has used, or 0 if its price is not known."""
        return float(use.usage.total_tokens) if self.unit == "tokens" else use.cost or 0.0

    def text_of(self, amount: float) -> str:
        """Return an amount in words."""
        form = ".2f" if amount >= 0.1 or not amount else ".3g"
        return f"{amount:{form}} USD" if self.unit == "USD" else f"{amount:,.0f} tokens"
