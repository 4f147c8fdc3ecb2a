"""The use that the helpers of a run make of their models."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from trialbed.records._base import Record
from trialbed.records._models import Usage
from trialbed.records._prices import Prices

HelperRole = Literal["judge", "selector", "simulator"]


class ModelUse(Record):
    """All that was asked of a model.

    Attributes:
        requests: those sent, repetitions of failed ones left out.
        cached: replies that were kept from earlier requests, and cost nothing.
        unreported: answers whose tokens the endpoint did not report.
        usage: the tokens that it reported; ``cost``: their price in US dollars, None where no price is known.
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
    """All that a helper of a run has asked of its model.

    Attributes:
        role: the helper; ``model``: the name of the one that it asked.
        prices: of the model, as they were known when it was first asked; None where they are not.
    """

    role: HelperRole
    model: str
    prices: Prices | None = None

    def __add__(self, other: ModelUse) -> HelperUse:
        costs = [use.cost for use in (self, other) if use.cost is not None]
        return self.model_copy(
            update={
                "requests": self.requests + other.requests,
                "cached": self.cached + other.cached,
                "unreported": self.unreported + other.unreported,
                "usage": self.usage + other.usage,
                "cost": sum(costs) if costs else None,
            }
        )


def added_uses(before: Iterable[HelperUse], more: Iterable[HelperUse]) -> tuple[HelperUse, ...]:
    """Return the uses of several sessions as those of one run."""
    found: dict[tuple[str, str], HelperUse] = {}
    for use in (*before, *more):
        key = use.role, use.model
        found[key] = found[key] + use if key in found else use
    return tuple(found.values())
