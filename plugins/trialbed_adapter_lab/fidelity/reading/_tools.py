"""The tools of a request: read, matched with those that were given, and compared with them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from trialbed.records import ToolSpec
from trialbed.wire.dialects.chat_completions import read_request
from trialbed.wire.offers import Offers
from trialbed_adapter_lab.differences import Difference, differences
from trialbed_adapter_lab.errors import NotMeasured

Effect = Literal["refused", "missing", "renamed", "lost", "added", "changed", "reordered"]
Order = Literal["kept", "by name", "changed"]

EFFECTS: tuple[Effect, ...] = get_args(Effect)
TYPES = ("function", "custom")
"""Types of the tools that a client runs."""

OWN_NAMES = {"input_schema": "parameters"}
"""A dialect's own name of a field -> that of chat completions."""

COMPARED = ("description", "parameters")
"""Fields of a function that are compared with the given ones; its name is compared apart."""


@dataclass(frozen=True, eq=False)
class SentTool:
    """A tool in a request; two are equal only if they are the same object.

    Attributes:
        function: its name, description and parameters, and anything else that the framework put there.
        beside: what else is in the tool, except its type.
    """

    name: str
    function: Mapping[str, Any]
    beside: Mapping[str, Any]


def sent_tools(request: Mapping[str, Any]) -> list[SentTool]:
    """Return the tools of a request, in its order.

    Raises:
        NotMeasured: one of them is not a function tool.
    """
    return list(_tools(request.get("tools") or []))


def match_tools(given: Sequence[ToolSpec], sent: Sequence[SentTool]) -> dict[str, SentTool]:
    """Return ``given name -> the tool that was sent for it``; without the tools that were not sent.

    The rules are those by which scripted models find the tools that they call. No tool is matched twice.
    """
    offers = Offers(given, read_request({"tools": [{"function": tool.function} for tool in sent]}).tools)
    named = {tool.name: tool for tool in sent}
    found = {tool.name: offers.function(tool.name) for tool in given}
    return {name: named[function.name] for name, function in found.items() if function is not None}


def find_changes(given: ToolSpec, sent: SentTool) -> tuple[tuple[Effect, ...], tuple[Difference, ...]]:
    """Return the changes to a tool that was sent; empty if its name, description and schema are as given."""
    wanted = {"description": given.description, "parameters": given.parameters}
    found = differences(wanted, {key: sent.function[key] for key in COMPARED if key in sent.function})
    kinds: set[Effect] = {difference.kind for difference in found}
    if sent.name != given.name:
        kinds.add("renamed")
    return tuple(effect for effect in EFFECTS if effect in kinds), found


def order_of(given: Sequence[str], partners: Mapping[str, SentTool], sent: Sequence[SentTool]) -> Order:
    """Return the order of the tools that were sent."""
    wanted = [partners[name] for name in given if name in partners]
    found = [tool for tool in sent if any(tool is partner for partner in wanted)]
    if all(one is other for one, other in zip(wanted, found, strict=True)):
        return "kept"
    names = [tool.name for tool in found]
    return "by name" if names in (sorted(names), sorted(names, key=str.lower)) else "changed"


def worst(orders: Iterable[Order]) -> Order:
    """Return the order that is furthest from the one given."""
    found = set(orders)
    return next((order for order in ("changed", "by name") if order in found), "kept")


def _tools(tools: Sequence[Any]) -> Iterator[SentTool]:
    for tool in tools:
        function, beside = _function(tool) if isinstance(tool, dict) else (None, {})
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise NotMeasured(f"a tool is not a function in the format of a dialect: {json.dumps(tool)[:200]}")
        yield SentTool(function["name"], function, beside)


def _function(tool: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Return the function of a tool, which is the tool itself in dialects other than chat completions, and the rest."""
    beside = {key: value for key, value in tool.items() if key != "type" or value not in TYPES}
    if "function" in tool or not (tool.get("type") in TYPES or "input_schema" in tool):
        return beside.pop("function", None), beside
    function = {OWN_NAMES.get(key, key): beside.pop(key) for key in ("name", *COMPARED, *OWN_NAMES) if key in beside}
    return function, beside
