"""The program in Agno's documentation.

The agent is ``Agent`` with a model, tools and instructions, and nothing else. The sources of the choices (the pages
are from https://docs.agno.com at agno 3.1.10):

* the agent and its instructions: agents/building-agents; how it is run: agents/running-agents;
* tools from a JSON Schema: examples/models/anthropic/structured-output-strict-tools, with the flag that keeps a given
  schema for a function that takes any arguments; Agno's own ``MCPTools`` makes its tools in this way;
* the model on a compatible endpoint, and its sampling: models/providers/openai-like;
* a conversation: database/chat-history, with the in-memory database of examples/concepts/agent/session/07_in_memory_db;
* no telemetry: telemetry.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from agno.agent import Agent
from agno.models.openai.like import OpenAILike
from agno.run.agent import RunOutput
from agno.run.base import RunStatus
from agno.tools.function import Function

from trialbed import Answer, BaseAgent, Limits, ModelEndpoint, Tool, finish_of
from trialbed_agno._reading import claimed_calls, claimed_usage


class NativeAgent(BaseAgent):
    """One Agno agent, without a session store, per trial."""

    contract = "3"
    converses = True

    def __init__(self, endpoint: ModelEndpoint, limits: Limits, *, system_prompt: str) -> None:
        super().__init__(endpoint, limits, system_prompt=system_prompt)
        self._model = self.chat_model()

    @classmethod
    def framework_version(cls) -> str:
        """Agno's version."""
        return version("agno")

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:  # noqa: ARG002 - the tools know it
        """Build the agent."""
        self._apis = {tool.name: tool.api for tool in tools}
        memory: dict[str, Any] = {}
        if self.has_turns:
            from agno.db.in_memory import InMemoryDb  # older releases lack it

            memory = {"db": InMemoryDb(), "add_history_to_context": True}  # type: ignore[no-untyped-call] # Agno's
        self._agent = Agent(
            model=self._model,
            tools=[bind_tool(tool) for tool in tools],
            instructions=self.system_prompt,
            telemetry=False,
            **memory,
        )

    async def answer(self, query: str) -> Answer:
        """Run the agent; an error that Agno returns as the run's content is the answer, but no finish."""
        session: dict[str, Any] = {"session_id": "trial"} if self.has_turns else {}
        return self._read(await self._agent.arun(query, **session))

    async def close(self) -> None:
        """Close the client, which Agno leaves to the garbage collector; the oldest releases do not keep it."""
        client = getattr(self._model, "async_client", None)
        if client is not None:
            await client.close()

    def chat_model(self) -> Any:
        """Return the trial's model, of Agno's class for it."""
        endpoint = self.endpoint
        return OpenAILike(
            id=endpoint.model,
            base_url=endpoint.base_url,
            api_key=endpoint.api_key,
            temperature=endpoint.temperature,
            max_tokens=endpoint.max_tokens,
            seed=endpoint.seed,
        )

    def _read(self, output: RunOutput) -> Answer:
        own = [message for message in output.messages or [] if not getattr(message, "from_history", False)]
        text = output.get_content_as_string() if output.content else ""
        return Answer(
            final_answer=text,
            calls=tuple(claimed_calls(output, self._apis)),
            finish=finish_of(text) if output.status is RunStatus.completed else None,
            usage=claimed_usage(output),
            model_turns=sum(message.role == "assistant" for message in own),
        )


def bind_tool(tool: Tool) -> Function:
    """Return a function of Agno that calls the trial's tool."""

    async def call(**arguments: Any) -> str:
        return await tool.ainvoke(arguments)

    return Function(
        name=tool.name,
        description=tool.description,
        parameters=dict(tool.parameters),
        entrypoint=call,
        skip_entrypoint_processing=True,
    )
