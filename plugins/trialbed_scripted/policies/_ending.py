"""The ends of a conversation in which the framework leaves the model no plain text: a finish tool, a demanded call."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from trialbed.records import ToolSpec
from trialbed.wire import Call, ModelRequest, OfferedTool
from trialbed.wire.offers import Offers, plain_name
from trialbed_scripted._turns import Turn
from trialbed_scripted.schemas import minimal_arguments

DEMANDS = frozenset({"required", "any"})
"""Modes of a choice that demand a call."""

FINISHES = frozenset(
    {"finish", "finalanswer", "submit", "submitanswer", "giveanswer", "answer", "done", "finalresponse"}
)
"""Plain names of tools with which frameworks have a model end."""


def with_demanded_call(turn: Turn, request: ModelRequest, tools: Sequence[ToolSpec]) -> Turn:
    """Return a turn as a request allows it: where it demands a call, a text becomes one.

    * A named tool is called, whatever the policy would do: with the policy's arguments if it calls that tool, else with
      its text, or with the least arguments that fit.
    * Where a call of any tool is demanded, a text is the argument of the finish tool: of the tool among those that are
      not the trial's that takes a text, by its name if there are several. Without one, the first tool is called with
      the least arguments that fit, as no model can answer there.
    """
    choice = request.tool_choice
    if choice.mode not in DEMANDS and not choice.name:
        return turn
    functions = {function.name: function for function in request.tools}
    if choice.name in functions:
        own = next((call for call in turn.calls if call.name == choice.name), None)
        return _calling(turn, own or _ending(functions[choice.name], turn.text or ""))
    if turn.calls or not functions:
        return turn
    finish = finish_tool(request.tools, tools)
    return _calling(turn, _ending(finish or request.tools[0], turn.text or "" if finish else None))


def finish_tool(functions: Sequence[OfferedTool], tools: Sequence[ToolSpec]) -> OfferedTool | None:
    """Return the function with which a model hands over its answer; None where none does for certain."""
    offers = Offers(tools, functions)
    others = [one for one in functions if offers.tool(one.name) is None and _text_argument(one) is not None]
    named = [one for one in others if plain_name(one.name) in FINISHES]
    found = named or others
    return found[0] if len(found) == 1 else None


def _calling(turn: Turn, call: Call) -> Turn:
    """Return the turn with this call alone; the calls of the policy that it drops were not played."""
    played = turn.played if call in turn.calls else ()
    return Turn(calls=(call,), played=played, lost=turn.lost, filled=turn.filled)


def _ending(function: OfferedTool, text: str | None) -> Call:
    """Return a call with a text as the argument that takes one; with the least arguments where there is no text."""
    arguments = minimal_arguments(function.parameters)
    name = _text_argument(function)
    if text is not None and name is not None and isinstance(arguments, dict):
        arguments = {**arguments, name: text}
    return Call(function.name, json.dumps(arguments, ensure_ascii=False))


def _text_argument(function: OfferedTool) -> str | None:
    """Return the parameter of a function that takes any text: the one that is required, else the first."""
    schema = function.parameters if isinstance(function.parameters, Mapping) else {}
    properties = schema.get("properties")
    required = schema.get("required")
    names = [name for name, own in properties.items() if _takes_text(own)] if isinstance(properties, Mapping) else []
    needed = [name for name in names if isinstance(required, list) and name in required]
    return next(iter(needed or names), None)


def _takes_text(schema: Any) -> bool:
    if not isinstance(schema, Mapping) or "enum" in schema or "const" in schema:
        return False
    kind = schema.get("type")
    return kind in (None, "string", "any") or (isinstance(kind, list) and "string" in kind)
