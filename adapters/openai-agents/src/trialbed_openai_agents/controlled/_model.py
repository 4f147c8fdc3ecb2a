"""The model: the SDK's chat completions model on the trial's endpoint."""

from __future__ import annotations

import json
from typing import Any

import openai
from agents import ModelSettings
from openai.types.chat import ChatCompletion, ChatCompletionMessage

from trialbed import Limits, ModelEndpoint, ModelFailed, tls_for

MAX_ERROR_TEXT = 500


class TrialClient(openai.AsyncOpenAI):
    """A client that gives the SDK only completions, in which every call has an id of its own.

    The SDK retries some refusals by itself, fails on an answer without choices only later, and takes a
    call whose id it has seen before as already made, or ends the run.

    Attributes:
        cut_short: whether the last completion ended at its limit of tokens.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.cut_short = False
        self._ids: set[str] = set()

    async def post(self, *args: Any, **kwargs: Any) -> Any:
        """Send one request.

        Raises:
            ModelFailed: the response is not a completion.
        """
        try:
            answered = await super().post(*args, **kwargs)
        except (openai.APIError, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ModelFailed(f"{type(error).__name__}: {error}") from error
        if not _is_completion(answered):
            raise ModelFailed(
                f"the model's endpoint did not answer with a completion: {str(answered)[:MAX_ERROR_TEXT]}"
            )
        self.cut_short = answered.choices[0].finish_reason == "length"
        for call in answered.choices[0].message.tool_calls or []:
            call.id = self._own_id(call.id)
            call.function.arguments = _readable(call.function.arguments)
        return answered

    def _own_id(self, wanted: str) -> str:
        unique = wanted
        while not unique or unique in self._ids:
            unique = f"{wanted or 'call'}_{len(self._ids)}"
        self._ids.add(unique)
        return unique


def open_client(endpoint: ModelEndpoint, limits: Limits) -> TrialClient:
    """The trial's connections, to be closed by the caller."""
    return TrialClient(
        base_url=endpoint.base_url,
        api_key=endpoint.api_key,
        max_retries=0,
        timeout=limits.request_timeout,
        http_client=openai.DefaultAsyncHttpxClient(timeout=limits.request_timeout, verify=tls_for(endpoint.base_url)),
    )


def model_settings(endpoint: ModelEndpoint) -> ModelSettings:
    """The fields of every request besides messages and tools."""
    return ModelSettings(
        temperature=endpoint.temperature or 0.0, max_tokens=endpoint.max_tokens, extra_args={"seed": endpoint.seed}
    )


def _readable(arguments: str) -> str:
    """Arguments that the SDK can read: nothing becomes an empty object, JSON that cannot be written again a string.

    Half an emoji or a thousand nested lists would end the run.
    """
    if not arguments:
        return "{}"
    try:
        json.dumps(json.loads(arguments), ensure_ascii=False).encode()
    except json.JSONDecodeError:
        return arguments
    except (ValueError, RecursionError):
        return json.dumps(arguments.encode(errors="replace").decode())
    return arguments


def _is_completion(answered: Any) -> bool:
    choices = answered.choices if isinstance(answered, ChatCompletion) else None
    return isinstance(choices, list) and bool(choices) and _is_message(getattr(choices[0], "message", None))


def _is_message(message: Any) -> bool:
    if not isinstance(message, ChatCompletionMessage):
        return False
    return all(getattr(call, "function", None) is not None for call in message.tool_calls or [])
