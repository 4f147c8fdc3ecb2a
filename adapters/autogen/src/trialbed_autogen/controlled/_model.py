"""The model: AutoGen's chat completions client on the trial's endpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import openai
from autogen_core.models import ModelFamily, ModelInfo
from autogen_ext.models.openai import BaseOpenAIChatCompletionClient
from openai.types.chat import ChatCompletion, ChatCompletionMessage

from trialbed import Limits, ModelEndpoint, ModelFailed, tls_for

MAX_ERROR_TEXT = 500

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


class TrialClient(openai.AsyncOpenAI):
    """A client that sends what Trialbed asks for, and gives AutoGen responses that it can handle.

    AutoGen would fail on an answer without choices, and warn of calls with another finish reason than ``tool_calls``.
    """

    async def post(self, *args: Any, **kwargs: Any) -> Any:
        """Send one request.

        Raises:
            ModelFailed: the response is not a completion.
        """
        try:
            answered = await super().post(*args, **kwargs | {"body": _plain(kwargs["body"])})
        except (openai.APIError, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ModelFailed(f"{type(error).__name__}: {error}") from error
        if not _is_completion(answered):
            raise ModelFailed(
                f"the model's endpoint did not answer with a completion: {str(answered)[:MAX_ERROR_TEXT]}"
            )
        choice = answered.choices[0]
        for call in choice.message.tool_calls or []:
            choice.finish_reason = "tool_calls"
            call.function.arguments = _readable(call.function.arguments)
        return answered


def open_client(endpoint: ModelEndpoint, limits: Limits) -> TrialClient:
    """The trial's connections, to be closed by the caller."""
    return TrialClient(
        base_url=endpoint.base_url,
        api_key=endpoint.api_key,
        max_retries=0,
        timeout=limits.request_timeout,
        http_client=openai.DefaultAsyncHttpxClient(timeout=limits.request_timeout, verify=tls_for(endpoint.base_url)),
    )


def chat_model(endpoint: ModelEndpoint, client: TrialClient) -> BaseOpenAIChatCompletionClient:
    """The trial's model."""
    settings: dict[str, Any] = {
        "model": endpoint.model,
        "temperature": 0.0 if endpoint.temperature is None else endpoint.temperature,
        "seed": endpoint.seed,
    }
    if endpoint.max_tokens is not None:
        settings["max_tokens"] = endpoint.max_tokens
    return BaseOpenAIChatCompletionClient(client, create_args=settings, model_info=MODEL_INFO)


def _plain(body: Mapping[str, Any]) -> dict[str, Any]:
    """The request without AutoGen's additions: ``tool_choice: auto``, and its name for the user."""
    messages = [{key: value for key, value in message.items() if key != "name"} for message in body["messages"]]
    return {key: value for key, value in body.items() if key != "tool_choice"} | {"messages": messages}


def _readable(arguments: str) -> str:
    """Arguments that AutoGen can read: empty ones become an object, those that Python cannot represent a string.

    AutoGen treats empty arguments as an error, and waits forever after a number of 5,000 digits.
    """
    try:
        json.loads(arguments or "{}")
    except json.JSONDecodeError:
        return arguments
    except (ValueError, RecursionError):
        return json.dumps(arguments.encode(errors="replace").decode())
    return arguments or "{}"


def _is_completion(answered: Any) -> bool:
    choices = answered.choices if isinstance(answered, ChatCompletion) else None
    return isinstance(choices, list) and bool(choices) and _is_message(getattr(choices[0], "message", None))


def _is_message(message: Any) -> bool:
    if not isinstance(message, ChatCompletionMessage):
        return False
    return all(getattr(call, "function", None) is not None for call in message.tool_calls or [])
