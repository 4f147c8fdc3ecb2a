"""The controlled profile, with smolagents' loop and the requests that are the same for all frameworks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any, ClassVar

from smolagents import AgentGenerationError, ChatMessage, LogLevel, MessageRole, Model, TokenUsage, ToolCallingAgent
from smolagents import Tool as SmolTool
from smolagents.agents import ToolOutput
from smolagents.models import ChatMessageToolCall, ChatMessageToolCallFunction

from trialbed import Answer, BaseAgent, Limits, ModelEndpoint, ModelFailed, Tool
from trialbed_controlled import BlockingTrialClient, ControlledChat
from trialbed_smolagents._reading import action_steps, claimed_usage


class ControlledAgent(BaseAgent):
    """One agent per trial, in a thread."""

    contract = "3"
    converses = True
    _chat: ControlledChat | None = None
    _model: SealedModel | None = None

    @classmethod
    def framework_version(cls) -> str:
        """Return the version of smolagents."""
        return version("smolagents")

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:  # noqa: ARG002 - the tools know it
        """Keep the tools."""
        self.tools = list(tools)

    def answer(self, query: str) -> Answer:
        """Run the agent.

        Raises:
            ModelFailed: the model could not be reached or refused.
        """
        if self._chat is None:
            prompt = self.system_prompt
            self._chat = ControlledChat(self.endpoint, self.limits, self.tools, system_prompt=prompt, query=query)
        else:
            self._chat.say(query)
        chat = self._chat
        names = {tool.name: f"tool_{place}" for place, tool in enumerate(self.tools)}
        self._model = self._model or SealedModel(chat, self.endpoint, self.limits, names)
        agent = ToolCallingAgent(
            tools=[_bind(name, chat) for name in (*names.values(), UNKNOWN)],
            model=self._model,
            verbosity_level=LogLevel.OFF,
            max_steps=self.limits.max_steps,
        )
        try:
            outputs = [step for step in agent.run(query, stream=True) if isinstance(step, ToolOutput)]
        except AgentGenerationError:
            if self._model.failure is not None:
                raise self._model.failure from None
            raise
        calls = [output for output in outputs if not output.is_final_answer]
        text = "".join(str(output.output) for output in outputs if output.is_final_answer)
        asked = [step for step in action_steps(agent.memory.steps) if step.model_output_message is not None]
        made = _read_calls(calls, {own: name for name, own in names.items()})
        return chat.answer(text, made, usage=claimed_usage(asked), turns=len(asked))

    def close(self) -> None:
        """Close the connections; a run that was cancelled ends with its next request."""
        if self._model is not None:
            self._model.close()


def _bind(name: str, chat: ControlledChat) -> SmolTool:
    tool_name = name

    class SealedTool(SmolTool):
        name = tool_name
        description = ""
        output_type = "any"
        inputs: ClassVar[dict[str, Any]] = {
            key: {**schema, "description": ""} for key, schema in chat.schema["properties"].items()
        }

        def forward(self, call: str, text: str) -> str:
            return chat.make_in_thread({"call": call, "text": text})

    return SealedTool()


def _read_calls(
    outputs: Sequence[ToolOutput], names: Mapping[str, str]
) -> Iterator[tuple[str, Mapping[str, Any] | None, str]]:
    """Yield the calls that smolagents reports, in the model's order, because the calls of a turn end in any order."""
    for output in sorted(outputs, key=lambda output: tuple(map(int, output.id.split("_")[1:]))):
        given = output.tool_call.arguments
        sent = {**given, "text": given["text"].removeprefix(NO_JSON)}
        yield names.get(output.tool_call.name, ""), sent, str(output.output)


FINAL = "final_answer"
"""The tool that ends a run of smolagents; a message without calls is a call of it."""


class SealedModel(Model):
    """A model that is asked the trial's requests instead of smolagents'.

    Attributes:
        names: name of a tool -> smolagents' name for it, which has to be an identifier.
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
        arguments["text"] = f"{NO_JSON}{arguments['text']}"
        return ChatMessageToolCall(
            function=ChatMessageToolCallFunction(name=name, arguments=arguments), id=id, type="function"
        )

    def _message(self, completion: dict[str, Any]) -> dict[str, Any]:
        message: dict[str, Any] = completion["choices"][0]["message"]
        return message


UNKNOWN = "unknown_tool"
"""The tool of smolagents for the calls of tools that are not offered."""

NO_JSON = "text: "
"""The prefix of the model's own arguments; smolagents would parse text that looks like JSON, and fail if it cannot."""
