"""Reading what frameworks sent to the model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trialbed.records import ModelCall
from trialbed_fidelity._not_measured import NotMeasured


def body(call: ModelCall) -> dict[str, Any]:
    """The request's body.

    Raises:
        NotMeasured: the log has not all of it, or it is no JSON object.
    """
    if len(call.request.encode()) != call.request_bytes:
        kept = len(call.request.encode())
        raise NotMeasured(f"the wire log keeps {kept:,} of the request's {call.request_bytes:,} bytes")
    try:
        found = json.loads(call.request)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise NotMeasured("the request's body is no JSON object")
    return found


def messages(request: Mapping[str, Any]) -> list[Any]:
    """The request's messages, with the ids of tool calls numbered, since every trial has others."""
    found = request.get("messages")
    return _Numbering().of(found) if isinstance(found, list) else []


class _Numbering:
    """Replaces each id of a tool call by its number in order of appearance."""

    def __init__(self) -> None:
        self._numbers: dict[Any, str] = {}

    def of(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.of(item) for item in value]
        if isinstance(value, dict):
            return {key: self._field(key, item) for key, item in value.items()}
        return value

    def _field(self, key: str, value: Any) -> Any:
        if key in ("id", "tool_call_id") and isinstance(value, str):
            return self._numbers.setdefault(value, f"call-{len(self._numbers) + 1}")
        return self.of(value)


@dataclass(frozen=True, eq=False)
class SentTool:
    """A tool as it stood in a request; two are equal only if they are one.

    Attributes:
        function: its name, description and parameters, and whatever else the framework put there.
        beside: what stood beside the function, without ``type: function``.
    """

    name: str
    function: Mapping[str, Any]
    beside: Mapping[str, Any]


def sent_tools(request: Mapping[str, Any]) -> list[SentTool]:
    """The tools of a request, in its order.

    Raises:
        NotMeasured: there is something that is no function tool.
    """
    return list(_tools(request.get("tools") or []))


def _tools(tools: Sequence[Any]) -> Iterator[SentTool]:
    for tool in tools:
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise NotMeasured(f"a tool is no function of OpenAI's form: {json.dumps(tool)[:200]}")
        beside = {key: value for key, value in tool.items() if (key, value) != ("type", "function")}
        del beside["function"]
        yield SentTool(function["name"], function, beside)
