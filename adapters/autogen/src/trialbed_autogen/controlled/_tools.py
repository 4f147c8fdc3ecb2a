"""The trial's tools as a workbench."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import openai
from autogen_core import CancellationToken
from autogen_core.tools import TextResultContent, ToolResult, ToolSchema, Workbench

from trialbed import Tool

LEFT_OUT = cast(bool, openai.omit)
"""Without ``strict``, which AutoGen would send with every tool."""


class RawWorkbench(Workbench):
    """A fixed set of tools with their own schemas.

    AutoGen's tools describe their arguments with a pydantic model; a workbench supplies its own schemas.
    """

    def __init__(self, tools: Sequence[Tool]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._schemas = [_schema(tool) for tool in tools]

    async def list_tools(self) -> list[ToolSchema]:
        """The tools' schemas, as offered to the model."""
        return self._schemas

    async def call_tool(
        self,
        name: str,
        arguments: Mapping[str, Any] | None = None,
        cancellation_token: CancellationToken | None = None,
        call_id: str | None = None,  # noqa: ARG002 - AutoGen's name
    ) -> ToolResult:
        """Make a call; arguments that are not a JSON object are an error, whatever their type says."""
        if not isinstance(arguments, Mapping):
            return _result(name, f"Error: the arguments are not a JSON object: {json.dumps(arguments)}", is_error=True)
        call = asyncio.ensure_future(self._tools[name].ainvoke(arguments))
        if cancellation_token is not None:
            cancellation_token.link_future(call)
        return _result(name, await call)

    async def start(self) -> None:
        """Nothing to start."""

    async def stop(self) -> None:
        """Nothing to stop."""

    async def reset(self) -> None:
        """Nothing to reset."""

    async def save_state(self) -> Mapping[str, Any]:
        """There is no state."""
        return {}

    async def load_state(self, state: Mapping[str, Any]) -> None:
        """There is no state."""


def _schema(tool: Tool) -> ToolSchema:
    parameters: Any = dict(tool.parameters)
    return ToolSchema(name=tool.name, description=tool.description, parameters=parameters, strict=LEFT_OUT)


def _result(name: str, text: str, *, is_error: bool = False) -> ToolResult:
    return ToolResult(name=name, result=[TextResultContent(content=text)], is_error=is_error)
