"""The model: CrewAI's own OpenAI provider on the trial's endpoint."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Self

import httpx
import openai
import openai.resources  # loaded late otherwise, in the first trial's time
from crewai.llms.providers.openai.completion import OpenAICompletion
from openai.types.chat import ChatCompletion
from pydantic import PrivateAttr, model_validator

from trialbed import Limits, ModelEndpoint, ModelFailed, Tool
from trialbed_crewai.controlled._names import ToolNames
from trialbed_crewai.controlled._transcript import Message, Transcript

EMPTY = " "
"""Given to CrewAI for an empty answer and past the step limit; it treats an empty text as a failure."""


class RunFailed(Exception):
    """A request failed.

    Its text is meaningless on purpose: CrewAI looks for a reason to ask again in an error's text and its causes.
    """


class TrialCompletion(OpenAICompletion):
    """CrewAI's provider with the trial's prompt, schemas, tool names and limit on requests."""

    _left: int = PrivateAttr(default=0)
    _error: Exception | None = PrivateAttr(default=None)
    _names: ToolNames = PrivateAttr()
    _definitions: list[dict[str, Any]] = PrivateAttr()
    _transcript: Transcript = PrivateAttr()

    @classmethod
    def of(cls, endpoint: ModelEndpoint, limits: Limits, transport: httpx.BaseTransport) -> Self:
        """The trial's model: not streamed, no retries, chat completions."""
        model = cls(
            model=endpoint.model,
            base_url=endpoint.base_url,
            api_key=endpoint.api_key,
            provider="openai",
            temperature=endpoint.temperature or 0.0,
            seed=endpoint.seed,
            max_tokens=endpoint.max_tokens,
        )
        model._left = limits.max_steps
        model._client = openai.OpenAI(
            base_url=endpoint.base_url,
            api_key=endpoint.api_key,
            timeout=limits.request_timeout,
            max_retries=0,
            http_client=httpx.Client(transport=transport, timeout=limits.request_timeout),
        )
        return model

    @model_validator(mode="after")
    def _init_clients(self) -> Self:
        """Make no clients; the usual two would load certificates for nothing."""
        return self

    def offer(self, tools: Sequence[Tool], names: ToolNames) -> None:
        """Offer the model these tools, with their own schemas."""
        self._names = names
        self._definitions = [tool.as_openai() for tool in tools]

    def begin(self, prompt: Sequence[Message]) -> None:
        """Begin the conversation with these messages instead of CrewAI's."""
        self._transcript = Transcript(prompt)

    def raise_error(self) -> None:
        """Raise the error of a failed request, if there is one.

        Raises:
            ModelFailed: the model could not be reached, refused, or did not answer with a completion.
        """
        error = self._error
        if error is not None:
            cause = error.__cause__ if isinstance(error.__cause__, openai.OpenAIError) else error
            raise ModelFailed(f"{type(cause).__name__}: {cause}") from cause

    def supports_function_calling(self) -> bool:
        """Always; CrewAI decides by the model's name."""
        return True

    def _prepare_completion_params(self, messages: Any, tools: Any = None) -> dict[str, Any]:
        """The request. The tools go into the body as they are, past the client, which would walk all schemas."""
        restored: list[Any] = self._transcript.restore(messages)
        params = super()._prepare_completion_params(restored)
        return {**params, "extra_body": {"tools": self._definitions}} if tools and self._definitions else params

    def _handle_completion(self, *args: Any, **kwargs: Any) -> Any:
        """Ask the model; past the limit, answer nothing instead, which ends the run.

        Raises:
            RunFailed: the request failed.
        """
        if self._error or not self._left:
            return EMPTY
        self._left -= 1
        try:
            answer = super()._handle_completion(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - raised again by `raise_error`
            self._error = error
        else:
            return [self._inner_call(call) for call in answer] if isinstance(answer, list) else answer or EMPTY
        raise RunFailed("the request failed")

    def _extract_openai_token_usage(self, response: Any) -> dict[str, Any]:
        """Keep the response, which is not available whole anywhere else; a call without an id gets one."""
        if isinstance(response, ChatCompletion) and response.choices:
            message = response.choices[0].message
            for place, call in enumerate(message.tool_calls or ()):
                call.id = call.id or f"call_{self._left}_{place}"
            self._transcript.note(message)
        return super()._extract_openai_token_usage(response)

    def _apply_stop_words(self, content: str) -> str:
        """Leave the answer as it is; CrewAI would cut it at a line that begins with ``Observation:``."""
        return content

    def _inner_call(self, call: Any) -> Any:
        """A call whose tool CrewAI can find and whose arguments it can read."""
        name, arguments = self._names.inner(call.function.name), _readable(call.function.arguments)
        return call.model_copy(
            update={"function": call.function.model_copy(update={"name": name, "arguments": arguments})}
        )


def _readable(arguments: str | None) -> str:
    """Arguments that CrewAI reads correctly; others than objects are made unreadable, as it would fail or guess."""
    text = arguments or "{}"
    try:
        return text if isinstance(json.loads(text), dict) else "{" + text
    except json.JSONDecodeError:
        return text
    except (ValueError, RecursionError):
        # JSON that Python does not read: a number of more than 4,300 digits, or deep nesting. CrewAI expects neither.
        return "{" + text
