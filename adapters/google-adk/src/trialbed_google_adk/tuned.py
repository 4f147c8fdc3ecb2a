"""The native program with the model class and the plugin that ADK's documentation has for other endpoints and failures.

From google-adk 2.13.0, litellm 1.106.2 and https://adk.dev/ in August 2026:

* Model: "LiteLLM model connector", https://adk.dev/agents/models/litellm/, and for an endpoint of one's own that speaks
  OpenAI's protocol "Gemma", https://adk.dev/agents/models/google-gemma/: ``LiteLlm`` with ``openai/`` and ``api_base``.
* Failures of tools: "Reflect and Retry plugin", https://adk.dev/integrations/reflect-and-retry/, as in its example.
"""

from __future__ import annotations

import os

# ADK and LiteLLM would set variables in the first trial, and a trial shall change nothing of the process.
os.environ.setdefault("LITELLM_MODE", "PRODUCTION")

try:
    from litellm.litellm_core_utils import default_encoding  # noqa: F401 - sets TIKTOKEN_CACHE_DIR
    from litellm.litellm_core_utils.logging_worker import GLOBAL_LOGGING_WORKER
except ImportError as error:
    raise ImportError("google-adk:tuned needs LiteLLM; install trialbed-google-adk[litellm]") from error

from google.adk import Agent
from google.adk.apps.app import App
from google.adk.models.lite_llm import LiteLlm
from google.adk.plugins import BasePlugin, ReflectAndRetryToolPlugin
from google.adk.runners import InMemoryRunner
from openai import AsyncOpenAI

from trialbed import Deviation
from trialbed_google_adk.native import NativeAgent


class TunedAgent(NativeAgent):
    """The native program over ``LiteLlm``, with a plugin."""

    deviations = (
        Deviation(check="written_calls_are_not_made", text="makes calls that the model writes as JSON in its text"),
    )

    def chat_model(self) -> LiteLlm:
        """Return the trial's model on a client that is closed with the trial; LiteLLM would keep one per address."""
        endpoint = self.endpoint
        self._client = AsyncOpenAI(base_url=endpoint.base_url, api_key=endpoint.api_key)
        return LiteLlm(model=f"openai/{endpoint.model}", api_base=endpoint.base_url, client=self._client)

    def runner(self, agent: Agent) -> InMemoryRunner:
        """Return the runner, with the plugin that asks the model to reflect on a tool's exception and to try again."""
        plugins: list[BasePlugin] = [ReflectAndRetryToolPlugin(max_retries=3)]
        return InMemoryRunner(app=App(name="trial", root_agent=agent, plugins=plugins))

    async def close(self) -> None:
        """End LiteLLM's task for writing logs, which LiteLLM leaves running."""
        await super().close()
        await GLOBAL_LOGGING_WORKER.stop()
