"""CrewAI's model class, with the trial's conversation in place of its own messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from crewai import BaseLLM
from openai.types.chat import ChatCompletion
from pydantic import PrivateAttr

from trialbed import ModelFailed
from trialbed_controlled import TrialClient
from trialbed_crewai.controlled._bridge import LoopBridge

EMPTY = " "
"""Given to CrewAI for an empty answer; it treats an empty text as a failure."""

UNKNOWN = "unknown_tool"
"""The tool of CrewAI for the calls of tools that are not offered."""


class RunFailed(Exception):
    """A request failed.

    Its text is meaningless on purpose: CrewAI looks for a reason to ask again in an error's text and its causes.
    """


class SealedLLM(BaseLLM):
    """A model that is asked the trial's requests instead of CrewAI's."""

    _client: TrialClient = PrivateAttr()
    _bridge: LoopBridge = PrivateAttr()
    _names: Mapping[str, str] = PrivateAttr()

    @classmethod
    def of(cls, model: str, client: TrialClient, bridge: LoopBridge, names: Mapping[str, str]) -> Self:
        """Return the trial's model.

        Args:
            names: name of a tool -> CrewAI's name for it, which CrewAI does not change.
        """
        sealed = cls(model=model)
        sealed._client, sealed._bridge, sealed._names = client, bridge, names
        return sealed

    def supports_function_calling(self) -> bool:
        """Always."""
        return True

    def call(self, messages: Any, *_: Any, **__: Any) -> Any:
        """Ask the model.

        Raises:
            RunFailed: the request failed.
        """
        if self._client.failure is not None:
            return EMPTY
        try:
            completion = self._bridge.call(self._ask, messages)
        except ModelFailed:
            raise RunFailed("the request failed") from None
        if completion.usage is not None:
            self._track_token_usage_internal(completion.usage.model_dump(exclude_none=True))
        message = completion.choices[0].message
        return [self._rename(call) for call in message.tool_calls or ()] or message.content or EMPTY

    async def _ask(self, messages: Any) -> ChatCompletion:
        answered: ChatCompletion = await self._client.post(
            "/chat/completions", cast_to=ChatCompletion, body={"messages": messages}
        )
        return answered

    def _rename(self, call: Any) -> Any:
        name = self._names.get(call.function.name, UNKNOWN)
        return call.model_copy(update={"function": call.function.model_copy(update={"name": name})})
