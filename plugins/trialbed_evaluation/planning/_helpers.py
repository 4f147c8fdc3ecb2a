"""The part of a plan that judges, selectors and simulators take, by their requests in the pilot."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from trialbed.records import HelperRole, HelperUse, Prices, Usage
from trialbed.report.comparison import Side
from trialbed.wire.addresses import split_address

Unit = Literal["trial", "query", "run"]


@dataclass(frozen=True)
class PlannedHelper:
    """The tokens that a helper takes for one trial, for one query whatever number of trials it has, or for a run.

    Attributes:
        per: ``trial`` for judges; ``query`` for selectors and simulators, whose choices and answers are kept for all
            trials of a query; ``run`` for embeddings, nearly all of which are the catalog's, whatever is asked.
        columns: of the pilot's run, whose trials are judged.
        tokens: None where that is not known: all replies of the pilot came from the cache, or it is a document.
        cost: in US dollars; None where that, or the price, is not known.
    """

    role: HelperRole
    model: str
    per: Unit
    columns: int
    tokens: float | None
    cost: float | None

    def times(self, queries: int, repeats: int) -> int:
        """Return how often a run of so many queries and repeats takes this."""
        return {"trial": queries * self.columns * repeats, "query": queries, "run": 1}[self.per]


def planned_helpers(sides: Sequence[Side], prices: Mapping[str, Prices]) -> tuple[PlannedHelper, ...]:
    """Return the helpers of the runs of a pilot.

    Args:
        prices: by the name of the model, those that are not the pilot's.
    """
    return tuple(_planned(sides, prices))


def _planned(sides: Sequence[Side], prices: Mapping[str, Prices]) -> Iterator[PlannedHelper]:
    runs: dict[object, list[Side]] = {}
    for side in sides:
        runs.setdefault(side.about.run_id or side.source, []).append(side)
    for own in runs.values():
        totals, embedding = own[0].about.helpers, own[0].about.settings["embedding_model"]
        counts: dict[Unit, int] = {"trial": totals.trials, "query": totals.queries, "run": min(1, totals.queries)}
        for use in totals.uses:
            per = _unit(use, embedding)
            share = _share(use, counts[per])
            yield PlannedHelper(
                role=use.role,
                model=use.model,
                per=per,
                columns=len(own),
                tokens=None if share is None else use.tokens * share,
                cost=None if share is None else _cost(use, share, prices.get(use.model)),
            )


def _unit(use: HelperUse, embedding: object) -> Unit:
    if use.role == "judge":
        return "trial"
    return "run" if use.role == "selector" and use.model == split_address(str(embedding))[0] else "query"


def _share(use: HelperUse, count: int) -> float | None:
    """Return the part of a use that one of so many takes, were none of its replies kept from earlier requests."""
    return (use.requests + use.cached) / use.requests / count if use.requests and count else None


def _cost(use: HelperUse, share: float, prices: Prices | None) -> float | None:
    if prices is None:
        return None if use.cost is None else use.cost * share
    each = {"prompt_tokens": use.usage.prompt_tokens, "completion_tokens": use.usage.completion_tokens}
    return prices.cost(Usage(**each)) * share
