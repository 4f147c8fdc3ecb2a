"""The program in AutoGen AgentChat's documentation, for autogen-agentchat, -core and -ext 0.7.5.

The pages are from https://microsoft.github.io/autogen/stable/ and the README of github.com/microsoft/autogen:

* the program, an ``AssistantAgent`` with a ``McpWorkbench`` and ``max_tool_iterations=10``: README, "MCP Server". It is
  the only documented way to use tools described by JSON Schemas: agentchat-user-guide/tutorial/agents.html, "MCP
  Workbench", and core-user-guide/components/workbench.html. Other tools are Python functions or pydantic classes.
* the limit of iterations: the same page, "Tool Iterations". By default there is one, after which the tools' results are
  the answer; README and tutorial both set ten if an agent uses tools in a loop.
* a conversation: the same page, and reference/python/autogen_agentchat.agents.html: an agent is stateful, and gets the
  new message alone.
* the instructions: the same page, ``system_message`` in every example.
* a server over HTTP: reference/python/autogen_ext.tools.mcp.html, ``StreamableHttpServerParams``.
* the model, its sampling settings and ``model_info``: reference/python/autogen_ext.models.openai.html,
  ``OpenAIChatCompletionClient``, "You can also use this client for OpenAI-compatible ChatCompletion endpoints".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from autogen_agentchat.agents import AssistantAgent
from autogen_agentchat.base import TaskResult
from autogen_agentchat.messages import BaseChatMessage, ToolCallExecutionEvent, ToolCallRequestEvent
from autogen_core.models import ModelFamily, ModelInfo
from autogen_ext.models.openai import OpenAIChatCompletionClient
from autogen_ext.tools.mcp import McpWorkbench, StreamableHttpServerParams

from trialbed import Answer, ApiRef, BaseAgent, ClaimedCall, Deviation, Tool, Usage, finish_of, mcp_url

MODEL_INFO = ModelInfo(
    vision=False, function_calling=True, json_output=True, family=ModelFamily.UNKNOWN, structured_output=True
)
"""The description of a model that is not OpenAI's."""


class NativeAgent(BaseAgent):
    """One assistant agent per trial."""

    contract = "3"
    converses = True
    _agent: AssistantAgent | None = None
    _workbench: McpWorkbench | None = None
    deviations = (Deviation(check="cancelled_during_a_tool", text="leaves its calls running when it is cancelled"),)

    @classmethod
    def framework_version(cls) -> str:
        """AgentChat's version."""
        return version("autogen-agentchat")

    def bind_tools(self, tools: Sequence[Tool], *, server_url: str) -> None:
        """Keep the address of the tools; AutoGen asks there for their schemas."""
        self._apis = {tool.name: tool.api for tool in tools}
        self._server = StreamableHttpServerParams(url=mcp_url(server_url))
        self._client = self.chat_model()

    async def answer(self, query: str) -> Answer:
        """Run the agent; what AutoGen raises is raised."""
        if self._agent is None:
            self._workbench = McpWorkbench(self._server)
            await self._workbench.start()
            self._agent = AssistantAgent(
                "assistant",
                model_client=self._client,
                workbench=self._workbench,
                system_message=self.system_prompt,
                max_tool_iterations=10,
            )
        return read_result(await self._agent.run(task=query), self._apis)

    async def close(self) -> None:
        """Close the connections to the tools and to the model."""
        if self._workbench is not None:
            await self._workbench.stop()
        await self._client.close()

    def chat_model(self) -> Any:
        """Return the trial's model, of AutoGen's class for it, with the sampling settings that were given."""
        endpoint = self.endpoint
        settings = endpoint.given("temperature", "max_tokens", "seed")
        settings |= {"model": endpoint.model, "base_url": endpoint.base_url, "api_key": endpoint.api_key}
        try:
            return OpenAIChatCompletionClient(**settings)
        except ValueError:
            # "Required if the model name is not a valid OpenAI model."
            return OpenAIChatCompletionClient(**settings, model_info=MODEL_INFO)


def read_result(result: TaskResult, apis: Mapping[str, ApiRef]) -> Answer:
    """Read AutoGen's report; the text of the last message is the answer, even if it is no answer by its type."""
    last = result.messages[-1]
    text = last.to_text() if isinstance(last, BaseChatMessage) else ""
    usages = [message.models_usage for message in result.messages if message.models_usage is not None]
    known = all(usage.prompt_tokens or usage.completion_tokens for usage in usages)
    spent = (Usage(prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens) for usage in usages)
    return Answer(
        final_answer=text,
        calls=tuple(_calls(result, apis)),
        finish=finish_of(text),
        usage=sum(spent, Usage()) if known else None,
        model_turns=len(usages),
    )


def _calls(result: TaskResult, apis: Mapping[str, ApiRef]) -> Iterator[ClaimedCall]:
    """Yield AutoGen's reported calls, without unknown tools and missing objects, which it answers itself."""
    events = result.messages
    asked = [call for event in events if isinstance(event, ToolCallRequestEvent) for call in event.content]
    told = [text for event in events if isinstance(event, ToolCallExecutionEvent) for text in event.content]
    for call, outcome in zip(asked, told, strict=True):
        arguments = _object(call.arguments)
        if call.name in apis and arguments is not None:
            yield ClaimedCall(name=call.name, api=apis[call.name], arguments=arguments, response=outcome.content)


def _object(text: str) -> dict[str, Any] | None:
    """Return the arguments of a call; AutoGen takes ``null`` for an empty object."""
    try:
        value = json.loads(text)
    except ValueError:
        return None
    return value or {} if isinstance(value, dict) or value is None else None
