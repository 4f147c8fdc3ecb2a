"""The model: AutoGen's class for chat completions, on the trial's client."""

from __future__ import annotations

import openai
from autogen_core.models import ModelFamily, ModelInfo
from autogen_ext.models.openai import BaseOpenAIChatCompletionClient

MODEL_INFO = ModelInfo(
    vision=False,
    function_calling=True,
    json_output=True,
    structured_output=False,
    multiple_system_messages=True,
    family=ModelFamily.GPT_4O,
)
"""The description that AutoGen requires for a model whose name it does not know.

The family is not "unknown", since AutoGen would then guess one from the model's name and rewrite the messages
for it; this one leaves them as they are.
"""


def chat_model(name: str, client: openai.AsyncOpenAI) -> BaseOpenAIChatCompletionClient:
    """The trial's model."""
    return BaseOpenAIChatCompletionClient(client, create_args={"model": name}, model_info=MODEL_INFO)
