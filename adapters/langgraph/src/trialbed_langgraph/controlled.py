"""The controlled profile, with LangGraph's loop and the requests that are the same for all frameworks."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from langchain.agents import create_agent
from langchain.agents.middleware import ModelCallLimitMiddleware
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.outputs import ChatResult
from langchain_core.tools import StructuredTool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, SecretStr

from trialbed import Answer
from trialbed_controlled import ControlledChat, ControlledProfile
from trialbed_langgraph._reading import claimed_usage, final_text, made_calls, model_turns

STEPS_PER_REQUEST = 10
"""More supersteps than one model request with its middleware and tools takes; the step limit is the middleware's."""


class ControlledAgent(ControlledProfile):
    """One agent graph per trial."""

    @classmethod
    def framework_version(cls) -> str:
        """Return the versions of LangGraph and of LangChain, which provides the agent."""
        return f"{version('langgraph')} (langchain {version('langchain')})"

    async def answer(self, query: str) -> Answer:
        """Run the graph.

        Raises:
            ModelFailed: the model could not be reached or refused.
        """
        chat, client = self.begin(query)
        model = TrialChatOpenAI(
            model=self.endpoint.model,
            api_key=SecretStr(self.endpoint.api_key),
            client=client,
            async_client=client.chat.completions,
            use_responses_api=False,
        )
        limit: Any = ModelCallLimitMiddleware(run_limit=self.limits.max_steps, exit_behavior="end")
        graph = create_agent(model, [_bind(tool.name, chat) for tool in self.tools], middleware=[limit])
        state = await graph.ainvoke(
            {"messages": [HumanMessage(query)]}, {"recursion_limit": STEPS_PER_REQUEST * (self.limits.max_steps + 1)}
        )
        messages = state["messages"]
        made = ((call["name"], call["args"], result) for call, result in made_calls(messages))
        turns = model_turns(messages)
        return chat.answer(final_text(messages), made, usage=claimed_usage(turns), turns=len(turns))


class TrialChatOpenAI(ChatOpenAI):
    """LangChain's model class for chat completions, on the trial's client."""

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        """Offer no tools: the trial's client does, and LangChain would convert each tool's schema for every request."""
        return self

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,  # noqa: ARG002 - LangChain's name
        **kwargs: Any,
    ) -> ChatResult:
        """Ask the model; the usual method asks for the raw response, which the trial's client does not give out."""
        return self._create_chat_result(
            await self.async_client.create(**self._get_request_payload(messages, stop=stop, **kwargs))
        )


class SealedArguments(BaseModel):
    """The arguments of all tools, a class made once; LangChain would make one from each tool's JSON Schema."""

    call: str
    text: str


def _bind(name: str, chat: ControlledChat) -> StructuredTool:
    async def make(call: str, text: str) -> str:
        return await chat.make({"call": call, "text": text})

    return StructuredTool(name=name, description="", coroutine=make, args_schema=SealedArguments)
