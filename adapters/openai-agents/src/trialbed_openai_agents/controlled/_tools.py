"""The trial's tools as SDK tools."""

from __future__ import annotations

from typing import Any, cast

import openai
from agents import FunctionTool
from agents.tool_context import ToolContext

from trialbed import Tool
from trialbed_openai_agents._reading import arguments_of

LEFT_OUT = cast(bool, openai.omit)
"""Without ``strict``, which the SDK would send with every tool."""


def function_tool(tool: Tool) -> FunctionTool:
    """The tool with its own schema; a call whose arguments are not a JSON object is answered with an error."""

    async def invoke(_: ToolContext[Any], text: str) -> str:
        arguments = arguments_of(text)
        if arguments is None:
            return f"Error: the arguments are not a JSON object: {text}"
        return await tool.ainvoke(arguments)

    return FunctionTool(
        name=tool.name,
        description=tool.description,
        params_json_schema=dict(tool.parameters),
        on_invoke_tool=invoke,
        strict_json_schema=LEFT_OUT,
    )
