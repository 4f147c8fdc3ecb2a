"""Clients of the trial's endpoint, based on OpenAI's, which each adapter that uses them installs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from typing import Any, ClassVar

import openai
from openai.types.chat import ChatCompletion

from trialbed.contracts import BaseAgent
from trialbed.errors import ModelFailed
from trialbed.records import Limits, ModelEndpoint
from trialbed.tools import Tool
from trialbed.wire import tls_for
from trialbed_controlled._chat import ControlledChat

FAILURES = (openai.APIError, json.JSONDecodeError, UnicodeDecodeError)
"""Errors of openai's client without a completion, including errors of its JSON reader."""


class TrialClient(openai.AsyncOpenAI):
    """A client that sends the trial's requests in place of the framework's. It does not retry.

    Args:
        ends_with_request: whether the framework ends its loop with one more request, which an empty message answers.

    Attributes:
        failure: the error that ended the run, for a framework that hides it in an error or an answer of its own.
    """

    def __init__(
        self, chat: ControlledChat, endpoint: ModelEndpoint, limits: Limits, *, ends_with_request: bool = False
    ) -> None:
        http = openai.DefaultAsyncHttpxClient(timeout=limits.request_timeout, verify=tls_for(endpoint.base_url))
        super().__init__(**_options(endpoint, limits), http_client=http)
        self.failure: ModelFailed | None = None
        self._trial_chat = chat
        self._ends_with_request = ends_with_request

    async def post(self, *args: Any, **kwargs: Any) -> Any:
        """Send one request.

        Raises:
            ModelFailed: there is no completion.
        """
        if self._ends_with_request and self._trial_chat.is_over:
            return ChatCompletion.model_validate(self._trial_chat.last_word())
        told = {
            message["tool_call_id"]: message["content"]
            for message in kwargs["body"]["messages"]
            if message["role"] == "tool"
        }
        try:
            return ChatCompletion.model_validate(await self._ask(told, *args, **kwargs))
        except ModelFailed as failure:
            self.failure = failure
            raise

    async def _ask(self, told: Mapping[str, str], *args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            answered = await super().post(*args, **kwargs | {"body": self._trial_chat.request(told)})
        except FAILURES as error:
            raise ModelFailed(f"{type(error).__name__}: {error}") from error
        return self._trial_chat.reply(_document(answered))


class BlockingTrialClient(openai.OpenAI):
    """A blocking ``TrialClient``, for frameworks that ask their models in threads."""

    def __init__(self, endpoint: ModelEndpoint, limits: Limits) -> None:
        http = openai.DefaultHttpxClient(timeout=limits.request_timeout, verify=tls_for(endpoint.base_url))
        super().__init__(**_options(endpoint, limits), http_client=http)

    def ask(self, chat: ControlledChat) -> dict[str, Any]:
        """Send the next request, and return the completion that the framework gets.

        Raises:
            ModelFailed: there is no completion.
        """
        try:
            answered = self.post("/chat/completions", cast_to=ChatCompletion, body=chat.request({}))
        except FAILURES as error:
            raise ModelFailed(f"{type(error).__name__}: {error}") from error
        return chat.reply(_document(answered))


def _options(endpoint: ModelEndpoint, limits: Limits) -> dict[str, Any]:
    return {
        "base_url": endpoint.base_url,
        "api_key": endpoint.api_key,
        "max_retries": 0,
        "timeout": limits.request_timeout,
    }


def _document(answered: Any) -> Any:
    return answered.model_dump(warnings=False) if isinstance(answered, ChatCompletion) else answered


class ControlledProfile(BaseAgent):
    """One agent per trial; a subclass runs the framework's loop over ``begin``'s conversation and client.

    Class attributes:
        distribution: of the framework; its version is reported.
        ends_with_request: whether the framework ends its loop with one request more than the trial allows.
    """

    contract = "3"
    converses = True
    distribution: ClassVar[str]
    ends_with_request: ClassVar[bool] = False
    _chat: ControlledChat | None = None
    _client: TrialClient | None = None

    @classmethod
    def framework_version(cls) -> str:
        """The framework's version."""
        return version(cls.distribution)

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:  # noqa: ARG002 - the tools know it
        """Keep the tools."""
        self.tools = list(tools)

    def begin(self, query: str) -> tuple[ControlledChat, TrialClient]:
        """Return the trial's conversation with this message, and a client for it, which ``close`` closes.

        The framework runs its loop again for each message of the user; the requests contain the earlier messages.
        """
        if self._chat is None or self._client is None:
            prompt = self.system_prompt
            self._chat = ControlledChat(self.endpoint, self.limits, self.tools, system_prompt=prompt, query=query)
            self._client = TrialClient(self._chat, self.endpoint, self.limits, ends_with_request=self.ends_with_request)
        else:
            self._chat.say(query)
            self._client.failure = None
        return self._chat, self._client

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.close()
