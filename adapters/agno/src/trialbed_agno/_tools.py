"""The rig's tools as Agno's."""

from __future__ import annotations

from typing import Any

from agno.tools.function import Function

from trialbed import Tool


def function_of(tool: Tool) -> Function:
    """Wrap one tool.

    Agno must not process it: it would rewrite ``required`` and ``additionalProperties`` after the signature.
    """

    async def call(**arguments: Any) -> str:
        return await tool.ainvoke(arguments)

    return Function(
        name=tool.name,
        description=tool.description,
        parameters=dict(tool.parameters),
        entrypoint=call,
        skip_entrypoint_processing=True,
    )
