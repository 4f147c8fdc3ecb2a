"""The trial's tools as CrewAI tools."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

from crewai.tools import BaseTool
from pydantic import BaseModel, ConfigDict

from trialbed import Tool
from trialbed_crewai.controlled._bridge import LoopBridge

MARK = "\0"


class AnyArguments(BaseModel):
    """Stands in for the schema, which the model gets from ``TrialCompletion``.

    CrewAI renders it three times per tool and trial, so it is made once.
    """

    model_config = ConfigDict(extra="allow")

    @classmethod
    def model_json_schema(cls, *_: Any, **__: Any) -> dict[str, Any]:
        """The schema of any object."""
        return {"title": cls.__name__, "type": "object", "properties": {}}


class NoTool(BaseTool):
    """A tool for an agent without tools; it is not sent to the model.

    CrewAI has another loop for agents without tools, which takes an answer apart where it reads like one of its own
    formats, and may ask again.
    """

    name: str = "no_tool"
    description: str = ""
    args_schema: type[BaseModel] = AnyArguments

    def _run(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("this tool is not offered to the model and cannot be called")


class RawTool(BaseTool):
    """A tool that passes the model's arguments on as they are.

    ``run`` is replaced because the usual one validates arguments after a class made from the schema, and breaks at
    a parameter named ``self``.
    """

    args_schema: type[BaseModel] = AnyArguments
    tool: Any
    bridge: Any
    numbers: Any

    def run(self, /, *_: Any, **arguments: Any) -> str:
        """Make the call."""
        return add_number(self.bridge.call(self.tool.ainvoke, arguments), next(self.numbers))

    def _run(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError(f"{self.name} is called by `run`")


def crew_tools(tools: Mapping[str, Tool], bridge: LoopBridge) -> list[BaseTool]:
    """Wrap the tools, given by CrewAI's names; never an empty list."""
    numbers = itertools.count(1)
    raw = [
        RawTool(name=name, description=tool.description, tool=tool, bridge=bridge, numbers=numbers)
        for name, tool in tools.items()
    ]
    return [*raw] or [NoTool()]


def add_number(response: str, number: int) -> str:
    """Make a response differ from all others of the trial.

    CrewAI ends a run at the fifth call with the same arguments and the same response. Here, only the trial's step
    limit ends a run.
    """
    return f"{response}{MARK}{number}"


def strip_number(text: str) -> str:
    """Return the response in a numbered one; other texts as they are."""
    response, mark, number = text.rpartition(MARK)
    return response if mark and number.isdecimal() else text
