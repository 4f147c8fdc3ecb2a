"""The trial's tools as a workbench."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, cast

import openai
from autogen_core import CancellationToken
from autogen_core.tools import TextResultContent, ToolResult, ToolSchema, Workbench

from trialbed_controlled import ControlledChat

LEFT_OUT = cast(bool, openai.omit)
"""Without ``strict``, which AutoGen would send with every tool."""


class SealedWorkbench(Workbench):
    """The tools of a trial, whose calls the trial's conversation makes.

    AutoGen's tools describe their arguments with a pydantic model; a workbench supplies its own schemas.
    """

    def __init__(self, names: Sequence[str], chat: ControlledChat) -> None:
        self._chat = chat
        schema: Any = dict(chat.schema)
        self._schemas = [ToolSchema(name=name, description="", parameters=schema, strict=LEFT_OUT) for name in names]

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
        """Make a call."""
        call = asyncio.ensure_future(self._chat.make(arguments or {}))
        if cancellation_token is not None:
            cancellation_token.link_future(call)
        return ToolResult(name=name, result=[TextResultContent(content=await call)])

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
