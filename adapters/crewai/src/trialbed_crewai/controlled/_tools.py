"""The trial's tools as CrewAI tools."""

from __future__ import annotations

from typing import Any

from crewai.tools import BaseTool
from pydantic import BaseModel

from trialbed_controlled import ControlledChat
from trialbed_crewai.controlled._bridge import LoopBridge


class CallArguments(BaseModel):
    """The arguments of all tools."""

    call: str
    text: str

    @classmethod
    def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
        """Return the schema, which CrewAI renders three times per tool and trial."""
        return {"title": cls.__name__, **ControlledChat.schema}


class SealedTool(BaseTool):
    """A tool of CrewAI; the trial's conversation makes its calls, on the trial's loop."""

    args_schema: type[BaseModel] = CallArguments
    chat: Any
    bridge: Any

    def _run(self, call: str, text: str) -> Any:
        return self.bridge.call(self.chat.make, {"call": call, "text": text})


def bind_tool(name: str, chat: ControlledChat, bridge: LoopBridge) -> SealedTool:
    """Return a tool of CrewAI by its name there."""
    return SealedTool(name=name, description="", chat=chat, bridge=bridge)
