"""The native program over AutoGen's client for Messages.

From autogen-ext 0.7.5: reference/python/autogen_ext.models.anthropic.html, ``AnthropicChatCompletionClient``.
"""

from __future__ import annotations

from typing import Any

from autogen_ext.models.anthropic import AnthropicChatCompletionClient

from trialbed_autogen.native import MODEL_INFO, NativeAgent


class MessagesAgent(NativeAgent):
    """The program with ``AnthropicChatCompletionClient``, with the class's own bound for an answer by default."""

    dialect = "messages"

    def chat_model(self) -> Any:
        """Return the trial's model, with the sampling settings that were given; Messages have no seed."""
        endpoint = self.endpoint
        settings = endpoint.given("temperature", "max_tokens")
        settings |= {"model": endpoint.model, "base_url": endpoint.root_url, "api_key": endpoint.api_key}
        # "Required if using a custom model", which any name but Anthropic's own is.
        return AnthropicChatCompletionClient(**settings, model_info=MODEL_INFO)
