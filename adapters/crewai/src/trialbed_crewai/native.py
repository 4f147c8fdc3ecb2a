"""The program in CrewAI's documentation for one agent that answers one question with tools.

From crewai 1.15.30 and its documentation; docs/reference/frameworks.md says why, if that offers several ways.

* Agent and instructions: https://docs.crewai.com/en/concepts/agents, "Direct Agent Interaction with kickoff()".
* Tools: https://docs.crewai.com/en/learn/create-custom-tools, "Subclassing BaseTool". ``args_schema`` may be a JSON
  Schema (crewai/tools/base_tool.py), which CrewAI converts in the same way as MCP tools' schemas.
* A conversation: https://docs.crewai.com/en/guides/flows/conversational-flows, a flow with a handler that runs the
  agent on the messages so far; ``route_turn`` bypasses the router, because its default route offers no tools.
* Endpoint and sampling: https://docs.crewai.com/en/concepts/llms, "Custom OpenAI-Compatible Endpoint".
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any

from packaging.version import Version
from pydantic import PrivateAttr
from pydantic_core import to_jsonable_python

from trialbed import Answer, BaseAgent, Deviation, Tool, UsageError
from trialbed_crewai import _quiet  # noqa: F401 - before CrewAI is imported
from trialbed_crewai._reading import drop_nulls, read_output

from crewai import LLM, Agent  # isort: skip
from crewai.tools import BaseTool  # isort: skip

OLDEST = "1.15.3"
"""The first release with ``LLM(custom_openai=True)``."""


class ApiTool(BaseTool):
    """A tool of the trial."""

    _tool: Tool = PrivateAttr()

    def _run(self, **arguments: Any) -> str:
        """Make the call; dates and the like arrive as Python objects."""
        return self._tool.invoke(drop_nulls(to_jsonable_python(arguments)))


class AgentConversation:
    """A conversational flow for one conversation; an agent answers every turn."""

    def __init__(self, agent: Agent) -> None:
        from crewai.flow import ConversationConfig, ConversationState, Flow, listen  # older releases lack them

        outputs: list[Any] = []

        @ConversationConfig(trace_scope="turn")
        class AgentFlow(Flow[ConversationState]):
            def route_turn(self, context: Any) -> str:  # noqa: ARG002 - CrewAI's name
                return "agent"

            @listen("agent")
            def answer(self) -> str:
                outputs.append(agent.kickoff(self.conversation_messages))
                return str(outputs[-1].raw)

        self._flow, self._outputs = AgentFlow(), outputs

    def ask(self, message: str) -> Any:
        """Return the agent's output for the user's next message."""
        self._flow.handle_turn(message, session_id="trial")
        return self._outputs[-1]


class NativeAgent(BaseAgent):
    """One ``crewai.Agent`` per trial."""

    contract = "3"
    converses = True
    _conversation: AgentConversation | None = None
    deviations = (
        Deviation(text="prints a panel about each step, also with verbose=False", check="nothing_is_printed"),
    )

    @classmethod
    def framework_version(cls) -> str:
        """CrewAI's version.

        Raises:
            UsageError: it is older than what this program uses.
        """
        found = version("crewai")
        if Version(found) < Version(OLDEST):
            raise UsageError(
                f"crewai:native needs crewai {OLDEST} or newer, and {found} is installed; ask for a newer release, or "
                f"for crewai:controlled"
            )
        return found

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:  # noqa: ARG002 - the tools know it
        """Build the agent."""
        self._tools = tools
        self._llm = self.chat_model()
        self._agent = Agent(
            role="Assistant",
            goal="Answer the user's question",
            backstory=self.system_prompt,
            llm=self._llm,
            tools=[self.bind_tool(tool) for tool in tools],
        )

    def answer(self, query: str) -> Answer:
        """Run the agent."""
        if self.has_turns:
            self._conversation = self._conversation or AgentConversation(self._agent)
            output: Any = self._conversation.ask(query)
        else:
            output = self._agent.kickoff(query)  # a coroutine only where an event loop runs
        return read_output(output, output.messages, self._tools)

    def close(self) -> None:
        """Close the connections, which CrewAI does not; a run that was cancelled ends with its next request."""
        self._llm._get_sync_client().close()

    def bind_tool(self, tool: Tool) -> ApiTool:
        """CrewAI's tool, which makes a pydantic class of the JSON Schema."""
        made = ApiTool(name=tool.name, description=tool.description, args_schema=tool.parameters)
        made._tool = tool
        return made

    def chat_model(self) -> Any:
        """Return the trial's model, of CrewAI's class for it."""
        endpoint = self.endpoint
        return LLM(
            endpoint.model,
            base_url=endpoint.base_url,
            api_key=endpoint.api_key,
            custom_openai=True,
            **endpoint.given("temperature", "max_tokens", "seed"),
        )
