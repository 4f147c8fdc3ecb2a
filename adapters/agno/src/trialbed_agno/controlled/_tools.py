"""The trial's tools as Agno functions."""

from __future__ import annotations

from typing import Any

from agno.tools.function import Function

from trialbed import Tool


class RawFunction(Function):
    """A function that Agno offers as it is.

    Agno would rewrite ``required`` and ``additionalProperties`` after the signature; even where that is switched
    off, it looks through the signature of each tool in each run.
    """

    def process_entrypoint(self, strict: bool = False) -> None:
        """Do nothing: the schema stays the tool's own, and Agno fills in no parameter."""

    @classmethod
    def of(cls, tool: Tool) -> RawFunction:
        """Wrap one tool."""

        async def call(**arguments: Any) -> str:
            return await tool.ainvoke(arguments)

        return cls(
            name=tool.name,
            description=tool.description,
            parameters=dict(tool.parameters),
            entrypoint=call,
            skip_entrypoint_processing=True,
        )
