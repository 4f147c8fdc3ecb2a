"""The agent: smolagents' ``ToolCallingAgent`` on the trial's model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any, ClassVar

from smolagents import AgentGenerationError, LogLevel, ToolCallingAgent
from smolagents import Tool as SmolTool
from smolagents.agents import ToolOutput

from trialbed import Answer, BaseAgent, Tool
from trialbed_controlled import ControlledChat
from trialbed_smolagents._reading import action_steps, claimed_usage
from trialbed_smolagents.controlled._model import UNKNOWN, SealedModel


class ControlledAgent(BaseAgent):
    """One agent per trial, in a thread."""

    contract = "3"
    _model: SealedModel | None = None

    @classmethod
    def framework_version(cls) -> str:
        """The version of smolagents."""
        return version("smolagents")

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:  # noqa: ARG002 - the tools know it
        """Keep the tools."""
        self.tools = list(tools)

    def answer(self, query: str) -> Answer:
        """Run the agent.

        Raises:
            ModelFailed: the model could not be reached or refused.
        """
        chat = ControlledChat(self.endpoint, self.limits, self.tools, system_prompt=self.system_prompt, query=query)
        names = {tool.name: f"tool_{place}" for place, tool in enumerate(self.tools)}
        self._model = SealedModel(chat, self.endpoint, self.limits, names)
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
        asked = [step for step in action_steps(agent) if step.model_output_message is not None]
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
    """The calls that smolagents reports, in the model's order; those of one turn end in any."""
    for output in sorted(outputs, key=lambda output: tuple(map(int, output.id.split("_")[1:]))):
        yield names.get(output.tool_call.name, ""), output.tool_call.arguments, str(output.output)
