"""The prices of a model's tokens, and the most that a run may use."""

from __future__ import annotations

from pydantic import Field

from trialbed.records._base import Record
from trialbed.records._models import Usage

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
