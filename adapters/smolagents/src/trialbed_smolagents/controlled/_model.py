"""The model: smolagents' class for one, with the trial's conversation in the place of its own messages."""

from __future__ import annotations

import json
from typing import Any

from smolagents import ChatMessage, MessageRole, Model, TokenUsage
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction

from trialbed import Limits, ModelEndpoint, ModelFailed
from trialbed_controlled import BlockingTrialClient, ControlledChat

FINAL = "final_answer"
"""The tool that ends a run of smolagents; a message without calls is a call of it."""


class SealedModel(Model):
    """A model that is asked the trial's requests, whatever smolagents would ask.

    Attributes:
        names: name of a tool -> the one that smolagents has for it, which has to be an identifier.
        failure: the error that ended the run, which smolagents wraps in an error of its own.
    """

    def __init__(self, chat: ControlledChat, endpoint: ModelEndpoint, limits: Limits, names: dict[str, str]) -> None:
        super().__init__(model_id=endpoint.model)
        self.names = names
        self.failure: ModelFailed | None = None
        self._chat = chat
        self._client = BlockingTrialClient(endpoint, limits)

    def generate(self, *_: Any, **__: Any) -> ChatMessage:
        """Ask the model; past the last turn, answer nothing.

        Raises:
            ModelFailed: there is no completion.
        """
        if self._chat.is_over:
            return ChatMessage(role=MessageRole.ASSISTANT, content=self._message(self._chat.last_word()).get("content"))
        try:
            completion = self._client.ask(self._chat)
        except ModelFailed as failure:
            self.failure = failure
            raise
        message, usage = self._message(completion), completion["usage"]
        calls = [self._call(**call) for call in message.get("tool_calls", ())]
        end = ChatMessageToolCallFunction(name=FINAL, arguments={"answer": message["content"] or ""})
        return ChatMessage(
            role=MessageRole.ASSISTANT,
            content=message["content"],
            tool_calls=calls or [ChatMessageToolCall(function=end, id=FINAL, type="function")],
            token_usage=usage and TokenUsage(usage["prompt_tokens"], usage["completion_tokens"]),
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _call(self, id: str, function: dict[str, str], **_: Any) -> ChatMessageToolCall:  # noqa: A002 - the wire's word
        name = self.names.get(function["name"], UNKNOWN)
        arguments = json.loads(function["arguments"])
        return ChatMessageToolCall(
            function=ChatMessageToolCallFunction(name=name, arguments=arguments), id=id, type="function"
        )

    def _message(self, completion: dict[str, Any]) -> dict[str, Any]:
        message: dict[str, Any] = completion["choices"][0]["message"]
        return message


UNKNOWN = "unknown_tool"
"""The tool of smolagents for the calls of tools that are not offered."""
