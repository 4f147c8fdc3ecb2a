"""The agent: ``langchain.agents.create_agent`` with the trial's settings."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import version

import openai
from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware
from langchain_core.messages import HumanMessage

from trialbed import Answer, BaseAgent, Deviation, Limits, ModelEndpoint, ModelFailed, Tool
from trialbed_langgraph._reading import read_messages
from trialbed_langgraph.controlled._middleware import AnswerInvalidCalls, OfferRawSchemas
from trialbed_langgraph.controlled._model import Connections, chat_model
from trialbed_langgraph.controlled._tools import RawTool

STEPS_PER_REQUEST = 10
"""More supersteps than one model request with its middleware and tools takes; the step limit is the middleware's."""


class ControlledAgent(BaseAgent):
    """One agent graph per trial."""

    contract = "3"
    deviations = (
        Deviation(
            check="arguments_stay_as_written",
            text="sends the arguments of a call back as LangChain writes them, not as the model did",
        ),
    )

    def __init__(self, endpoint: ModelEndpoint, limits: Limits, *, system_prompt: str) -> None:
        super().__init__(endpoint, limits, system_prompt=system_prompt)
        self._connections = Connections(endpoint, limits)

    @classmethod
    def framework_version(cls) -> str:
        """The versions of LangGraph and of LangChain, which provides the agent."""
        return f"{version('langgraph')} (langchain {version('langchain')})"

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:  # noqa: ARG002 - the tools know it
        """Build the graph."""
        self._apis = {tool.name: tool.api for tool in tools}
        self._graph = create_agent(
            chat_model(self.endpoint, self.limits, self._connections),
            [RawTool.of(tool) for tool in tools],
            system_prompt=self.system_prompt,
            middleware=[
                OfferRawSchemas(tools),
                AnswerInvalidCalls(),
                ModelCallLimitMiddleware(run_limit=self.limits.max_steps, exit_behavior="end"),
            ],
        )

    async def answer(self, query: str) -> Answer:
        """Run the graph.

        Raises:
            ModelFailed: the model could not be reached or refused.
        """
        try:
            state = await self._graph.ainvoke(
                {"messages": [HumanMessage(query)]},
                {"recursion_limit": STEPS_PER_REQUEST * (self.limits.max_steps + 1)},
            )
        # openai's client lets the error of its JSON reader pass where a response is not JSON.
        except (openai.APIError, json.JSONDecodeError) as error:
            raise ModelFailed(f"{type(error).__name__}: {error}") from error
        return read_messages(state["messages"], self._apis)

    async def close(self) -> None:
        """Close the connections."""
        await self._connections.close()
