"""The program in smolagents' documentation for one agent that answers one question with tools.

From smolagents 1.26.0 and its documentation, https://huggingface.co/docs/smolagents;
docs/reference/frameworks.md says why, if that offers several ways.

* Agent and run: "Agents - Guided tour", ``ToolCallingAgent(tools, model)`` and ``agent.run(task)``; ``instructions``.
* A conversation: the section on the chat UI of the same page, ``run(message, reset=False)``.
* Tools: "Tools", a subclass of ``Tool`` with ``name``, ``description``, ``inputs``, ``output_type`` and ``forward``.
  A schema has no place in it but for its properties, each with a type and a description.
* Names: smolagents takes identifiers alone. Tools of MCP servers, "Use MCP tools with MCPClient directly", may have
  others, and its client (mcpadapt 0.1.19, ``smolagents_adapter.py``) renames them; this program does so too.
* Model: "Models", ``OpenAIModel`` with the endpoint, and the sampling as further arguments, each only if given.
* No panels on standard output, because Trialbed's worker speaks there: ``verbosity_level``.
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any, ClassVar

from smolagents import ActionStep, LogLevel, MultiStepAgent, OpenAIModel, ToolCallingAgent
from smolagents import Tool as SmolTool

from trialbed import Answer, BaseAgent, ClaimedCall, Deviation, Tool, finish_of
from trialbed_smolagents._reading import action_steps, asked_calls, claimed_usage, takes


class NativeAgent(BaseAgent):
    """One ``ToolCallingAgent`` per trial, in a thread."""

    contract = "3"
    converses = True
    finish_tool = "final_answer"
    kind: ClassVar[type[MultiStepAgent]] = ToolCallingAgent
    deviations = (
        Deviation(
            check="tool_names_are_kept",
            text="renames tools whose names are no identifiers, as its MCP client does: get_weather for get-weather",
        ),
    )

    @classmethod
    def framework_version(cls) -> str:
        """Return the version of smolagents."""
        return version("smolagents")

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:  # noqa: ARG002 - the tools know it
        """Build the agent."""
        endpoint = self.endpoint
        sampling = endpoint.given("temperature", "max_tokens", "seed")
        self._apis = {identifier(tool.name): tool.api for tool in tools}
        url, key = endpoint.base_url, endpoint.api_key
        self._model = OpenAIModel(model_id=endpoint.model, api_base=url, api_key=key, **sampling)
        self._agent = self.kind(
            tools=[bind_tool(tool) for tool in tools],
            model=self._model,
            instructions=self.system_prompt,
            verbosity_level=LogLevel.OFF,
        )

    def answer(self, query: str) -> Answer:
        """Run the agent; what smolagents raises is raised."""
        begun = len(self._agent.memory.steps)
        output = self._agent.run(query, reset=not self.has_turns)
        steps = action_steps(self._agent.memory.steps[begun:])
        text = "" if output is None else str(output)
        return Answer(
            final_answer=text,
            calls=tuple(self._calls(steps)),
            finish=finish_of(text),
            usage=claimed_usage(steps),
            model_turns=len(steps),
        )

    def close(self) -> None:
        """Close the connections, which smolagents does not; a run that was cancelled ends with its next request."""
        self._model.client.close()

    def _calls(self, steps: Sequence[ActionStep]) -> Iterator[ClaimedCall]:
        """Yield the calls that smolagents made of its tools with valid arguments.

        If one call of a turn failed, its memory drops the turn's calls. It has no separate results for several calls.
        """
        for step in steps:
            asked = list(asked_calls(step))
            for call in asked:
                name, arguments = call.function.name, call.function.arguments or {}
                if name in self._apis and takes(self._agent.tools[name], arguments):
                    told = str(step.observations or "") if len(asked) == 1 else ""
                    yield ClaimedCall(name=name, api=self._apis[name], arguments=arguments, response=told)


def bind_tool(tool: Tool) -> SmolTool:
    """Return a tool of smolagents that calls the trial's tool."""
    required = tool.parameters.get("required", [])
    properties: Mapping[str, Any] = tool.parameters.get("properties", {})

    class ApiTool(SmolTool):
        skip_forward_signature_validation = True
        name = identifier(tool.name)
        description = tool.description
        output_type = "any"
        inputs: ClassVar[dict[str, Any]] = {
            key: {"type": "any", "description": "", **schema, **({} if key in required else {"nullable": True})}
            for key, schema in properties.items()
        }

        def forward(self, **arguments: Any) -> str:
            return tool.invoke(arguments)

    return ApiTool()


def identifier(name: str) -> str:
    """Return smolagents' MCP name for a tool, a Python identifier and not a keyword."""
    kept = re.sub(r"\W", "", name.replace("-", "_"))
    if kept[:1].isdigit():
        kept = f"_{kept}"
    return f"{kept}_" if keyword.iskeyword(kept) else kept
