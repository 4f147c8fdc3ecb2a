"""The client: OpenAI's, with the trial's conversation between ADK and the endpoint."""

from __future__ import annotations

import json
from typing import Any

import openai
from openai.types.chat import ChatCompletion

from trialbed import ControlledChat, Limits, ModelEndpoint, ModelFailed, tls_for


class TrialClient(openai.AsyncOpenAI):
    """A client that sends the trial's requests, whatever it is asked to send."""

    def __init__(self, chat: ControlledChat, **options: Any) -> None:
        super().__init__(**options)
        self._trial_chat = chat

    async def post(self, *args: Any, **kwargs: Any) -> Any:
        """Send one request.

        Raises:
            ModelFailed: there is no completion.
        """
        told = {
            message["tool_call_id"]: message["content"]
            for message in kwargs["body"]["messages"]
            if message["role"] == "tool"
        }
        try:
            answered = await super().post(*args, **kwargs | {"body": self._trial_chat.request(told)})
        except (openai.APIError, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise ModelFailed(f"{type(error).__name__}: {error}") from error
        document = answered.model_dump(warnings=False) if isinstance(answered, ChatCompletion) else answered
        return ChatCompletion.model_validate(self._trial_chat.reply(document))


def open_client(chat: ControlledChat, endpoint: ModelEndpoint, limits: Limits) -> TrialClient:
    """The trial's connections, without retries; to be closed by the caller."""
    return TrialClient(
        chat,
        base_url=endpoint.base_url,
        api_key=endpoint.api_key,
        max_retries=0,
        timeout=limits.request_timeout,
        http_client=openai.DefaultAsyncHttpxClient(timeout=limits.request_timeout, verify=tls_for(endpoint.base_url)),
    )
