"""The ends of a conversation for which the framework wants no plain text: a finish tool, a demanded call, JSON."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace

from trialbed.records import ToolSpec
from trialbed.wire import Call, ModelRequest, OfferedTool
from trialbed.wire.offers import Offers, plain_name
from trialbed_scripted._turns import ModelTurn
from trialbed_scripted.schemas import filled_json, filled_with, minimal_arguments

DEMANDS = frozenset({"required", "any"})
"""Modes of a choice that demand a call."""

PROBE = "The answer to the question is what the tools have returned."
"""A text of the usual kind, by which tools are known that take one."""

FINISHES = frozenset(
    {
        "answer",
        "done",
        "finalanswer",
        "finalresponse",
        "finalresult",
        "finish",
        "giveanswer",
        "submit",
        "submitanswer",
        "submitfinalanswer",
    }
)
"""Plain names of tools with which frameworks have a model end."""

TYPED_FINISHES = ("finalanswer", "finalresponse", "finalresult")
"""Beginnings of the plain names of such tools where each type of answer has one."""


def is_finish(name: str) -> bool:
    """Return whether a tool's name says that it ends."""
    plain = plain_name(name)
    return plain in FINISHES or plain.startswith(TYPED_FINISHES)


def as_demanded(
    turn: ModelTurn,
    request: ModelRequest,
    tools: Sequence[ToolSpec],
    declared: str = "",
    expected: Collection[str] = (),
) -> ModelTurn:
    """Return a turn as a request asks for it: as a call where it wants one, as JSON where it gives a schema.

    * A named tool is called, whatever the policy would do: with the policy's arguments if it calls that tool, else with
      its text, or with the least arguments that fit.
    * Where a call is demanded, a text is the argument of the finish tool: of the tool among those that are not the
      trial's that takes a text, by its name if there are several, and the first if each type of answer has one.
      Without one, the tool whose name says that it ends, or else the first, is called with the least arguments that
      fit, as no model can answer there.
    * Where no call is demanded, the finish tool is called only if its name says that it is one.
    * A finish tool that the adapter declares is called wherever it is offered.
    * Any other text is put into the JSON that the request's schema allows.

    Args:
        tools: the trial's.
        declared: the name of the adapter's finish tool; empty where it declares none.
        expected: the names of the tools that the script calls. A text that they take does not make them finish tools.
    """
    choice = request.tool_choice
    functions = {function.name: function for function in request.tools if choice.allows(function.name)}
    if choice.name in functions:
        own = next((call for call in turn.calls if call.name == choice.name), None)
        return _calling(turn, own or _ending(functions[choice.name], turn.text or ""))
    if turn.calls:
        return turn
    finish = functions.get(declared) or finish_tool(tuple(functions.values()), tools, expected)
    if functions and choice.mode in DEMANDS:
        named = (function for function in functions.values() if is_finish(function.name))
        first = next(named, next(iter(functions.values())))
        return _calling(turn, _ending(finish or first, turn.text or "" if finish else None))
    if finish is not None and (finish.name == declared or plain_name(finish.name) in FINISHES):
        return _calling(turn, _ending(finish, turn.text or ""))
    schema = request.generation.reply_schema
    return turn if schema is None or turn.text is None else replace(turn, text=filled_json(schema, turn.text))


def finish_tool(
    functions: Sequence[OfferedTool], tools: Sequence[ToolSpec], expected: Collection[str] = ()
) -> OfferedTool | None:
    """Return the function with which a model hands over its answer; None where none does for certain."""
    offers = Offers(tools, functions)
    foreign = [one for one in functions if offers.tool(one.name) is None]
    named = [one for one in foreign if plain_name(one.name) in FINISHES and _takes_answer(one)]
    typed = [one for one in foreign if is_finish(one.name) and _takes_answer(one)][:1]
    found = named or typed or [one for one in foreign if one.name not in expected and _takes_text(one)]
    return found[0] if len(found) == 1 else None


def _calling(turn: ModelTurn, call: Call) -> ModelTurn:
    """Return the turn with this call alone; the calls of the policy that it drops were not played."""
    played = turn.played if call in turn.calls else ()
    return replace(turn, text=None, calls=(call,), played=played)


def _ending(function: OfferedTool, text: str | None) -> Call:
    """Return a call with a text in its arguments; with the least arguments where there is no text, or no place."""
    arguments = None if text is None else filled_with(function.parameters, text)
    if not isinstance(arguments, dict):
        arguments = minimal_arguments(function.parameters)
    return Call(function.name, json.dumps(arguments, ensure_ascii=False))


def _takes_answer(function: OfferedTool) -> bool:
    """Return whether a function takes any text, in whatever part of its arguments."""
    return isinstance(filled_with(function.parameters, PROBE), dict)


def _takes_text(function: OfferedTool) -> bool:
    """Return whether a function has a parameter that takes any text."""
    found = filled_with(function.parameters, PROBE)
    return isinstance(found, dict) and PROBE in found.values()
