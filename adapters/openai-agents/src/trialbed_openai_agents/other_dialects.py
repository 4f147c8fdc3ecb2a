"""The native program over chat completions.

From openai-agents 0.24.0: models/, "Chat Completions" (``OpenAIChatCompletionsModel``).
"""

from __future__ import annotations

from dataclasses import replace

from agents import Model, ModelSettings, OpenAIChatCompletionsModel
from openai import AsyncOpenAI

from trialbed_openai_agents.native import NativeAgent


class ChatCompletionsAgent(NativeAgent):
    """The program with ``OpenAIChatCompletionsModel``."""

    dialect = "chat_completions"

    def settings(self) -> ModelSettings:
        """Return the trial's settings, with its seed."""
        seed = self.endpoint.seed
        return replace(super().settings(), extra_args=None if seed is None else {"seed": seed})

    def chat_model(self, client: AsyncOpenAI) -> Model:
        """Return the trial's model."""
        return OpenAIChatCompletionsModel(model=self.endpoint.model, openai_client=client)
