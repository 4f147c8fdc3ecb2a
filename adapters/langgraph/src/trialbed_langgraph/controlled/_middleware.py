"""Middleware that the adapter adds to the graph."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse, hook_config
from langchain_core.messages import AIMessage, ToolMessage

from trialbed import Tool

if TYPE_CHECKING:
    Middleware = AgentMiddleware[Any, Any, Any]
else:
    # Releases differ in how many parameters the type has.
    Middleware = AgentMiddleware


class OfferRawSchemas(Middleware):
    """Offers the model the tools' own schemas; LangChain's conversion inlines ``$ref`` and drops ``$defs``."""

    def __init__(self, tools: Sequence[Tool]) -> None:
        super().__init__()
        self._definitions: list[Any] = [tool.as_openai() for tool in tools]

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """Replace the tools with their definitions."""
        return await handler(request.override(tools=self._definitions))


class AnswerInvalidCalls(Middleware):
    """Answers calls whose arguments are not a JSON object with an error; LangChain would end the run."""

    @hook_config(can_jump_to=["model"])
    async def aafter_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:  # noqa: ARG002 - LangChain's names
        """Add the errors, and ask the model again if all its calls were invalid."""
        message = state["messages"][-1]
        if not isinstance(message, AIMessage) or not message.invalid_tool_calls:
            return None
        update: dict[str, Any] = {"messages": [_error(call) for call in message.invalid_tool_calls]}
        return update if message.tool_calls else {**update, "jump_to": "model"}


def _error(call: Any) -> ToolMessage:
    content = f"Error: the arguments are not a JSON object: {call['args']}"
    return ToolMessage(content=content, name=call["name"], tool_call_id=call["id"], status="error")
