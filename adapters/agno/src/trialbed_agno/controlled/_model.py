"""The chat model: ``OpenAILike`` on the trial's endpoint, with a limit on its requests."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import openai
from agno.exceptions import ModelProviderError
from agno.models.message import Message
from agno.models.openai.like import OpenAILike
from agno.models.response import ModelResponse
from agno.tools.function import Function, FunctionCall

from trialbed import Limits, ModelEndpoint, tls_for

UNKNOWN_TOOL = "Error: The requested tool does not exist or is not available."
"""Agno's own words."""


def open_client(endpoint: ModelEndpoint, limits: Limits) -> openai.AsyncOpenAI:
    """The client of one trial, without retries."""
    return openai.AsyncOpenAI(
        base_url=endpoint.base_url,
        api_key=endpoint.api_key,
        timeout=limits.request_timeout,
        max_retries=0,
        http_client=openai.DefaultAsyncHttpxClient(timeout=limits.request_timeout, verify=tls_for(endpoint.base_url)),
    )


class BoundedChat(OpenAILike):
    """The trial's model: not streamed, no retries, chat completions, and at most ``max_steps`` requests.

    Attributes:
        order: names of the tools in their original order; Agno sorts them.
        stopped: the limit ended the run.
        error: the client's error of a failed request; Agno returns its text as the answer.
    """

    def __init__(self, endpoint: ModelEndpoint, limits: Limits, client: openai.AsyncOpenAI) -> None:
        super().__init__(
            id=endpoint.model,
            api_key=endpoint.api_key,
            temperature=endpoint.temperature or 0.0,
            seed=endpoint.seed,
            max_tokens=endpoint.max_tokens,
        )
        self._client = client
        self._left = limits.max_steps
        self.order: list[str] = []
        self.stopped = False
        self.error: BaseException | None = None

    @property
    def reason(self) -> str:
        """The error as text."""
        text = f"{type(self.error).__name__}: {self.error}"
        refused = isinstance(self.error, openai.APIError)
        return text if refused else f"the model's endpoint did not answer with a completion ({text})"

    def get_async_client(self) -> openai.AsyncOpenAI:
        """The trial's own client; some releases of Agno share connections between agents."""
        return self._client

    def get_request_params(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """The request without its messages, with the tools in their original order."""
        params = super().get_request_params(*args, **kwargs)
        if "tools" in params:
            by_name = {tool["function"]["name"]: tool for tool in params["tools"]}
            params["tools"] = [by_name[name] for name in self.order]
        return params

    async def ainvoke(self, *args: Any, **kwargs: Any) -> ModelResponse:
        """Ask the model; past the limit, answer with an empty message and no tokens, which ends Agno's loop."""
        if not self._left:
            self.stopped = True
            return ModelResponse(content="", response_usage=type(kwargs["assistant_message"].metrics)())
        self._left -= 1
        try:
            return await super().ainvoke(*args, **kwargs)
        except ModelProviderError as error:
            # Taken here, since Agno makes the error its own cause when it passes it on.
            self.error = error.__cause__ or error
            raise

    def get_function_calls_to_run(
        self, assistant_message: Message, messages: list[Message], functions: dict[str, Function] | None = None
    ) -> list[FunctionCall]:
        """The calls that can be made, with the arguments as the model wrote them; the others get errors as answers.

        Agno would turn strings such as "true" into booleans and null, and accept more than JSON objects.
        """
        calls = []
        for wanted in assistant_message.tool_calls or []:
            name, text = wanted["function"]["name"], wanted["function"]["arguments"]
            function, arguments = (functions or {}).get(name), _parse(text)
            if function is None:
                messages.append(self._refusal(wanted, UNKNOWN_TOOL))
            elif arguments is None:
                messages.append(self._refusal(wanted, f"Error: the arguments are not a JSON object: {text}"))
            else:
                calls.append(FunctionCall(function=function, arguments=arguments, call_id=wanted["id"]))
        return calls

    async def arun_function_calls(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        """Make the calls; a tool may be named ``get_user_input`` without pausing the run."""
        async for event in super().arun_function_calls(*args, **{**kwargs, "skip_pause_check": True}):
            yield event

    def _format_message(self, message: Message, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Write a message without text as the model did; Agno would write an empty text."""
        written = super()._format_message(message, *args, **kwargs)
        return {**written, "content": None} if message.tool_calls and message.content is None else written

    def _format_all_messages(self, messages: list[Message], *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
        """Write the messages with the call ids that the model gave; Agno would rewrite them."""
        return [self._format_message(message, *args, **kwargs) for message in messages]

    def _refusal(self, call: dict[str, Any], content: str) -> Message:
        name = call["function"]["name"]
        return Message(role=self.tool_message_role, tool_call_id=call["id"], tool_name=name, content=content)


def _parse(text: str | None) -> dict[str, Any] | None:
    """The JSON object in a text, which is empty if the text is; None if it is something else."""
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):  # Python's JSON reader fails on thousands of nested lists
        return None
    return value if isinstance(value, dict) else None
