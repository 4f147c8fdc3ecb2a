"""Models: the endpoint and the limits of a trial, tokens, prices, budgets, and the use that helpers make of models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import Field

from trialbed.records._base import Record

COMMON_NAME = "gpt-4o"
"""The name that frameworks are given for models whose own names would mislead them.

Frameworks decide by a model's name: how large its context is, which roles and parameters it takes, which API it is
asked at, even whether it is offered tools. All of them treat this one as a chat model with tools. Under a name that
they do not know, some condense conversations; under newer names of OpenAI's, some drop the temperature or leave chat
completions.
"""


class ModelEndpoint(Record):
    """The endpoint of an agent's model, with the trial's own gateway URL and a dummy key.

    Attributes:
        base_url: ends in ``/v1``; the path carries the trial's token.
        dialect: of its requests and answers, by the name that ``trialbed.wire.dialects`` has for it.
        model: the name that the framework is given, which need not be the model's own.
        temperature: None if the user gave none. A native profile then leaves its framework's own; a controlled one and
            the plain loop send 0.
        max_tokens: bound of one completion, in tokens; None leaves it to the model.
        seed: the trial's own seed, sent with every request; the same for every framework of a run.
    """

    base_url: str
    api_key: str
    model: str
    temperature: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    max_tokens: int | None = None
    seed: int = 0
    dialect: str = "chat_completions"

    @property
    def root_url(self) -> str:
        """The URL without its ``/v1``, as Anthropic's SDKs take it."""
        return self.base_url.removesuffix("/v1")

    def given(self, *names: str) -> dict[str, Any]:
        """Return the named settings that have a value, as in ``given("temperature", "max_tokens", "seed")``."""
        return {name: value for name in names if (value := getattr(self, name)) is not None}


LATEST_DEADLINE = 24 * 3600.0
"""The most seconds that a trial's deadline can be extended by."""


class Limits(Record):
    """The bounds of a trial, in model requests (``max_steps``) and seconds of wall time (``timeout``)."""

    max_steps: int = Field(default=12, ge=1)
    timeout: float = Field(default=120.0, gt=0)

    @property
    def request_timeout(self) -> float:
        """The timeout in seconds of an adapter's HTTP client, longer than any trial.

        The executor keeps a trial's deadline, and extends it while the gateway repeats failed requests. A client that
        gives up earlier would blame its framework for a failure of the endpoint.
        """
        return self.timeout + LATEST_DEADLINE


class Usage(Record):
    """Tokens of one or more model calls.

    Attributes:
        cached_tokens: tokens of the prompt that the endpoint had in its cache.
        reasoning_tokens: tokens of the model's thoughts, which are part of the completion and not shown in any answer.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0

    @classmethod
    def of(cls, counts: Mapping[str, int]) -> Usage | None:
        """Return an answer's reported tokens, by the names of chat completions, or None if it reports none."""
        if not {"prompt_tokens", "completion_tokens"} <= counts.keys():
            return None
        prompt, completion = counts["prompt_tokens"], counts["completion_tokens"]
        cached, reasoning = (counts.get(name, 0) for name in ("cached_tokens", "reasoning_tokens"))
        # Most vendors count thoughts among the completion's tokens. Where only the total has them, they are billed no
        # less.
        if counts.get("total_tokens") == prompt + completion + reasoning:
            completion += reasoning
        return cls(
            prompt_tokens=prompt,
            completion_tokens=completion,
            cached_tokens=min(cached, prompt),
            reasoning_tokens=min(reasoning, completion),
        )

    @property
    def total_tokens(self) -> int:
        """Prompt and completion together."""
        return self.prompt_tokens + self.completion_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields})


MILLION = 1_000_000


class TokenRate(Record):
    """Prices in US dollars for a million tokens.

    Attributes:
        above: the prices apply to prompts with more tokens than this.
        cached: of prompt tokens in the endpoint's cache; None if they cost the same.
    """

    above: int = 0
    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class Prices(Record):
    """The prices of a model at the time its run began.

    Attributes:
        rates: by the length of the prompt, ascending; the first is for every length.
        source: where they come from, with its version.
    """

    rates: tuple[TokenRate, ...] = Field(min_length=1)
    source: str

    def cost(self, usage: Usage) -> float:
        """Return the cost of one request in US dollars.

        Reasoning tokens count as output. The rate for a long prompt applies to all its tokens.
        """
        rate = next(rate for rate in reversed(self.rates) if usage.prompt_tokens > rate.above or not rate.above)
        cached = rate.input if rate.cached is None else rate.cached
        fresh = usage.prompt_tokens - usage.cached_tokens
        return (fresh * rate.input + usage.cached_tokens * cached + usage.completion_tokens * rate.output) / MILLION


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
