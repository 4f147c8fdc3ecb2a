"""The native program over Agno's classes for the other dialects.

From agno 3.1.10: models/providers/native/anthropic, and models/providers/native/openai/responses.
"""

from __future__ import annotations

from typing import Any

from agno.models.anthropic import Claude
from agno.models.openai import OpenAIResponses

from trialbed_agno.native import NativeAgent


class MessagesAgent(NativeAgent):
    """The program with ``Claude``, with the class's own bound for an answer by default."""

    dialect = "messages"

    def chat_model(self) -> Any:
        """Return the trial's model, with the sampling settings that were given; Messages have no seed."""
        endpoint = self.endpoint
        bound: dict[str, Any] = {} if endpoint.max_tokens is None else {"max_tokens": endpoint.max_tokens}
        return Claude(
            id=endpoint.model,
            api_key=endpoint.api_key,
            temperature=endpoint.temperature,
            client_params={"base_url": endpoint.root_url},
            **bound,
        )


class ResponsesAgent(NativeAgent):
    """The program with ``OpenAIResponses``."""

    dialect = "responses"

    def chat_model(self) -> Any:
        """Return the trial's model, with the sampling settings that were given; Responses have no seed."""
        endpoint = self.endpoint
        return OpenAIResponses(
            id=endpoint.model,
            base_url=endpoint.base_url,
            api_key=endpoint.api_key,
            temperature=endpoint.temperature,
            max_output_tokens=endpoint.max_tokens,
        )
