"""The program in LangGraph's documentation.

The agent is ``create_agent`` with a model, tools and a system prompt, and nothing else. The sources of the choices
(the pages are from https://docs.langchain.com/oss/python at langchain 1.4.7 and langgraph 1.2.22):

* the agent and its instructions: langchain/quickstart and langchain/agents, "System prompt";
* tools from a JSON Schema: langchain/tools, "Customize tool properties" and "Advanced schema definition";
* the model on a compatible endpoint: integrations/chat/openai, "Use with OpenAI-compatible endpoints";
* chat completions instead of responses, which some model names would select: langchain/models, "Base URL or proxy";
* a conversation: langchain/short-term-memory, "Usage": a checkpointer, and the thread's id with each new message;
* sampling: langchain/models, "Parameters", and the reference of ``ChatOpenAI`` for ``seed``.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from langchain.agents import create_agent
from langchain.tools import BaseTool, tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from trialbed import Answer, BaseAgent, Limits, ModelEndpoint, Tool
from trialbed_langgraph._reading import last_turn, read_messages


class NativeAgent(BaseAgent):
    """One agent graph per trial."""

    contract = "3"
    converses = True

    def __init__(self, endpoint: ModelEndpoint, limits: Limits, *, system_prompt: str) -> None:
        super().__init__(endpoint, limits, system_prompt=system_prompt)
        self._model = self.chat_model()

    @classmethod
    def framework_version(cls) -> str:
        """Return the versions of LangGraph and of LangChain, which provides the agent."""
        return f"{version('langgraph')} (langchain {version('langchain')})"

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:  # noqa: ARG002 - the tools know it
        """Build the graph."""
        self._apis = {item.name: item.api for item in tools}
        self._graph = create_agent(
            self._model,
            tools=[bind_tool(item) for item in tools],
            system_prompt=self.system_prompt,
            middleware=self.middleware(),
            checkpointer=InMemorySaver() if self.has_turns else None,
        )

    async def answer(self, query: str) -> Answer:
        """Run the graph; what LangGraph raises is raised."""
        said: Any = {"messages": [{"role": "user", "content": query}]}
        thread: Any = {"configurable": {"thread_id": "trial"}} if self.has_turns else None
        result: Any = await self._graph.ainvoke(said, thread)
        return read_messages(last_turn(result["messages"]), self._apis)

    async def close(self) -> None:
        """Close the model's clients, which LangChain keeps by URL; every trial has its own URL."""
        self._model.root_client.close()
        await self._model.root_async_client.close()

    def middleware(self) -> list[Any]:
        """Return the middleware, by default an empty list."""
        return []

    def chat_model(self) -> Any:
        """Return the trial's model, of LangChain's class for it."""
        return open_model(self.endpoint, use_responses_api=False)


def bind_tool(item: Tool) -> BaseTool:
    """Return a tool of LangChain that calls the trial's tool."""

    async def call(**arguments: Any) -> str:
        return await item.ainvoke(arguments)

    return tool(item.name, description=item.description, args_schema=dict(item.parameters))(call)


def open_model(endpoint: ModelEndpoint, *, use_responses_api: bool) -> ChatOpenAI:
    """Return the trial's model, with the sampling settings that were given; Responses have no seed."""
    return ChatOpenAI(
        model=endpoint.model,
        base_url=endpoint.base_url,
        api_key=SecretStr(endpoint.api_key),
        use_responses_api=use_responses_api,
        **endpoint.given("temperature", "max_tokens", *([] if use_responses_api else ["seed"])),
    )
