"""The native program over LangChain's classes for the other dialects.

From langchain-anthropic 1.7.10 and langchain-openai 1.7.4: integrations/chat/anthropic, and integrations/chat/openai,
"Responses API".
"""

from __future__ import annotations

from typing import Any

from langchain_anthropic import ChatAnthropic
from pydantic import SecretStr

from trialbed_langgraph.native import NativeAgent, open_model


class MessagesAgent(NativeAgent):
    """The program with ``ChatAnthropic``, with the class's own bound for an answer by default."""

    dialect = "messages"

    async def close(self) -> None:
        """Close the model's clients, which LangChain keeps by URL; every trial has its own URL."""
        self._model._client.close()
        await self._model._async_client.close()

    def chat_model(self) -> Any:
        """Return the trial's model, with the sampling settings that were given; Messages have no seed."""
        endpoint = self.endpoint
        settings = endpoint.given("temperature", "max_tokens")
        return ChatAnthropic(
            model=endpoint.model, base_url=endpoint.root_url, api_key=SecretStr(endpoint.api_key), **settings
        )


class ResponsesAgent(NativeAgent):
    """The program with ``ChatOpenAI`` over Responses."""

    dialect = "responses"

    def chat_model(self) -> Any:
        """Return the trial's model."""
        return open_model(self.endpoint, use_responses_api=True)
