"""The endpoint of a trial's model, the limits of a trial, and token counts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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
