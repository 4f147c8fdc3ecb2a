"""A trial's tool as a tool of LangChain; imported only where LangChain is used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from langchain_core.tools import BaseTool
from pydantic import ConfigDict, PrivateAttr

from trialbed.records import ApiRef, ToolSpec


class CallableTool(Protocol):
    """The part of a ``trialbed.Tool`` that is needed here."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def metadata(self) -> dict[str, str]: ...

    async def ainvoke(self, arguments: Mapping[str, Any]) -> str: ...

    def invoke(self, arguments: Mapping[str, Any]) -> str: ...


class LangChainTool(BaseTool):
    """A tool of LangChain that calls the trial's Api, with the raw schema, and with what a ``Tool`` has.

    LangChain keeps an argument named ``config`` or ``run_manager`` from every tool, and fails on one named ``self``.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)
    _tool: Any = PrivateAttr()

    @classmethod
    def of(cls, tool: CallableTool) -> LangChainTool:
        """The tool for LangChain."""
        made = cls(
            name=tool.spec.name,
            description=tool.spec.description,
            args_schema=dict(tool.spec.parameters),
            metadata=tool.metadata,
        )
        made._tool = tool
        return made

    @property
    def spec(self) -> ToolSpec:
        """The tool as records have it."""
        spec: ToolSpec = self._tool.spec
        return spec

    @property
    def api(self) -> ApiRef:
        """The Api behind this tool."""
        return self.spec.api

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The JSON Schema of the arguments, whole and unaltered."""
        return self.spec.parameters

    async def __call__(self, /, **arguments: Any) -> str:
        """Call the Api with these arguments, as a ``Tool`` does."""
        return str(await self._tool.ainvoke(arguments))

    def as_langchain(self) -> LangChainTool:
        """This tool itself."""
        return self

    def _run(self, **arguments: Any) -> str:
        return str(self._tool.invoke(arguments))

    async def _arun(self, **arguments: Any) -> str:
        return str(await self._tool.ainvoke(arguments))
