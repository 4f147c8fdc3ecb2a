"""The trial's tools as LangChain tools."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from pydantic import BaseModel

from trialbed import Tool


class Anything(BaseModel, extra="allow"):
    """Any arguments."""


class RawTool(BaseTool):
    """A tool that passes the model's arguments on as they are.

    ``ainvoke`` is replaced because the usual one spreads arguments over a signature, where a parameter named
    ``self`` or ``config`` breaks the call.
    """

    tool: Any

    @classmethod
    def of(cls, tool: Tool) -> RawTool:
        """Wrap one tool."""
        return cls(name=tool.name, description=tool.description, args_schema=dict(tool.parameters), tool=tool)

    def get_input_schema(self, config: RunnableConfig | None = None) -> type[BaseModel]:  # noqa: ARG002 - LangChain's
        """The same model for every tool: LangGraph looks here for arguments that it would fill in, and finds none.

        For a tool with a JSON Schema, LangChain would build a new model for each tool of each trial.
        """
        return Anything

    def _run(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError(f"{self.name} is called by `ainvoke`")

    async def ainvoke(
        self,
        input: Any,  # noqa: A002 - LangChain's name
        config: RunnableConfig | None = None,  # noqa: ARG002 - nothing to configure
        **_: Any,
    ) -> ToolMessage:
        """Make the call that ``input`` (a LangChain tool call) describes."""
        content = await self.tool.ainvoke(input["args"])
        return ToolMessage(content=content, name=self.name, tool_call_id=input["id"], status="success")
