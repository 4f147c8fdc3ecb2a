"""The tuned profile, as CrewAI's quickstart and tools page teach it: flow, crew of one agent, pydantic tools.

From crewai 1.15.30 and its documentation; docs/reference/frameworks.md has the effect of each choice.

* Flow, crew and task: https://docs.crewai.com/en/quickstart, a step that runs a crew of one agent and one task.
* Tools: https://docs.crewai.com/en/learn/create-custom-tools, "Subclassing BaseTool": ``args_schema`` is a pydantic
  class with a described field for each argument.
* The context window: https://docs.crewai.com/en/learn/custom-llm, "Optional Methods", ``get_context_window_size``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, Field, create_model

from trialbed import Answer, Tool
from trialbed_crewai._reading import read_output
from trialbed_crewai.native import ApiTool, NativeAgent

from crewai import Crew, Task  # isort: skip - CrewAI is quiet from here on
from crewai.flow import Flow, start  # isort: skip
from crewai.llms.providers.openai.completion import OpenAICompletion  # isort: skip

WINDOW = 128_000
"""Tokens of the model's context window; CrewAI takes 8,192 for a name that it does not know."""

TYPES: Mapping[str, Any] = {"boolean": bool, "integer": int, "number": float, "object": dict[str, Any], "string": str}


class LargeCompletion(OpenAICompletion):
    """CrewAI's model for compatible endpoints, with a context window that does not depend on its name."""

    def get_context_window_size(self) -> int:
        """Return the context window size."""
        return WINDOW


class TunedAgent(NativeAgent):
    """One flow per trial, with a crew of one agent."""

    converses = False

    def answer(self, query: str) -> Answer:
        """Run the flow."""
        task = Task(description=query, expected_output="The answer to the question", agent=self._agent)
        crew = Crew(agents=[self._agent], tasks=[task])

        class AnswerFlow(Flow[dict[str, Any]]):
            @start()
            def ask_crew(self) -> Any:
                return crew.kickoff()

        output: Any = AnswerFlow().kickoff()
        return read_output(output, output.tasks_output[0].messages, self._tools)

    def bind_tool(self, tool: Tool) -> ApiTool:
        """CrewAI's tool, with a pydantic class of its arguments."""
        made = ApiTool(name=tool.name, description=tool.description, args_schema=arguments_class(tool.parameters))
        made._tool = tool
        return made

    def chat_model(self) -> Any:
        """Return the trial's model."""
        endpoint = self.endpoint
        return LargeCompletion(
            model=endpoint.model,
            base_url=endpoint.base_url,
            api_key=endpoint.api_key,
            custom_openai=True,
            **endpoint.given("temperature", "max_tokens", "seed"),
        )


def arguments_class(schema: Mapping[str, Any]) -> type[BaseModel]:
    """Return a class as a user would write it for the properties of an object: their types, values and descriptions."""
    required, fields = schema.get("required", ()), dict[str, Any]()
    for name, member in schema.get("properties", {}).items():
        described = member if isinstance(member, Mapping) else {}
        kind, about = field_type(described), described.get("description", "")
        if name in required:
            fields[name] = kind, Field(description=about)
        else:
            fields[name] = kind | None, Field(default=described.get("default"), description=about)
    return create_model("Arguments", **fields)


def field_type(schema: Mapping[str, Any]) -> Any:
    """Return the type of a field, with a class for objects with properties, and ``Any`` without a single type."""
    kind, values = schema.get("type"), schema.get("enum", ())
    if values and all(isinstance(value, str | int) for value in values):
        return Literal[tuple(values)]
    if kind == "array":
        items = schema.get("items")
        return list[field_type(items if isinstance(items, Mapping) else {})]  # type: ignore[misc]
    if kind == "object" and schema.get("properties"):
        return arguments_class(schema)
    return TYPES.get(str(kind), Any)
