"""The conversation as it goes to the model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import dropwhile
from typing import Any

from openai.types.chat import ChatCompletionMessage

from trialbed_crewai.controlled._tools import strip_number

Message = dict[str, Any]


class Transcript:
    """Undoes what CrewAI does to messages.

    It puts the prompt into words of its own, drops the text beside tool calls, and renames the tools in
    them. The order of the messages, and the answers to the calls, are CrewAI's.

    Args:
        prompt: the messages that the conversation begins with.
    """

    def __init__(self, prompt: Sequence[Message]) -> None:
        self._prompt = list(prompt)
        self._said: list[Message] = []

    def note(self, message: ChatCompletionMessage) -> None:
        """Keep a message of the model that has calls."""
        if message.tool_calls:
            calls = [_call(call) for call in message.tool_calls]
            self._said.append({"role": "assistant", "content": message.content, "tool_calls": calls})

    def restore(self, messages: Sequence[Any]) -> list[Message]:
        """Return CrewAI's messages, with the trial's prompt and the model's own words."""
        said = iter(self._said)
        return self._prompt + [_restore(message, said) for message in dropwhile(_is_prompt, messages)]


def _is_prompt(message: Message) -> bool:
    return message["role"] not in ("assistant", "tool")


def _restore(message: Message, said: Iterator[Message]) -> Message:
    if message.get("tool_calls"):
        return next(said, message)
    if message["role"] == "tool":
        content = strip_number(str(message["content"]))
        return {"role": "tool", "tool_call_id": message["tool_call_id"], "content": content}
    return message


def _call(call: Any) -> Message:
    function = {"name": call.function.name, "arguments": call.function.arguments}
    return {"id": call.id, "type": "function", "function": function}
