"""The native program over CrewAI's classes for the other dialects.

From crewai 1.15.30: https://docs.crewai.com/en/concepts/llms, "Anthropic", and "OpenAI", "Responses API".
"""

from __future__ import annotations

from typing import Any

from trialbed_crewai.native import NativeAgent

from crewai import LLM  # isort: skip - CrewAI is quiet from here on


class MessagesAgent(NativeAgent):
    """The program with CrewAI's provider for Anthropic, with the provider's own bound for an answer by default."""

    dialect = "messages"

    def chat_model(self) -> Any:
        """Return the trial's model; Messages have no seed."""
        endpoint = self.endpoint
        return LLM(
            endpoint.model,
            provider="anthropic",
            base_url=endpoint.root_url,
            api_key=endpoint.api_key,
            **endpoint.given("temperature", "max_tokens"),
        )


class ResponsesAgent(NativeAgent):
    """The program over Responses."""

    dialect = "responses"

    def chat_model(self) -> Any:
        """Return the trial's model; Responses have no seed."""
        endpoint = self.endpoint
        return LLM(
            endpoint.model,
            base_url=endpoint.base_url,
            api_key=endpoint.api_key,
            custom_openai=True,
            api="responses",
            **endpoint.given("temperature", "max_tokens"),
        )
