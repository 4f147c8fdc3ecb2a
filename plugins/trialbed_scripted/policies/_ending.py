"""Ends of a conversation for frameworks that want more than plain text: a finish tool, a demanded call, or JSON."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from dataclasses import replace

from trialbed.records import ToolSpec
from trialbed.wire import Call, ModelRequest, OfferedTool
from trialbed.wire.offers import Offers, plain_name
from trialbed_scripted._scripts import ModelTurn
from trialbed_scripted.schemas import filled_json, filled_with, minimal_arguments

DEMANDS = frozenset({"required", "any"})
"""The choice modes that demand a call."""

PROBE = "The answer to the question is what the tools have returned."
"""A typical answer, to find the tools that accept one."""

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
"""Plain names of the tools that frameworks use to end."""

TYPED_FINISHES = ("finalanswer", "finalresponse", "finalresult")
"""Prefixes of these names if each type of answer has its own tool."""


def is_finish(name: str) -> bool:
    """Return whether a tool's name says that it ends the conversation."""
    plain = plain_name(name)
    return plain in FINISHES or plain.startswith(TYPED_FINISHES)


def as_demanded(
    turn: ModelTurn,
    request: ModelRequest,
    tools: Sequence[ToolSpec],
    declared: str = "",
    expected: Collection[str] = (),
) -> ModelTurn:
    """Return a turn in the form that a request asks for, such as a call or JSON.

    * A tool that the request names is always called. It gets the policy's arguments if the policy calls it, else the
      policy's text, or else the minimal valid arguments.
    * If a call is demanded, a text becomes the argument of the finish tool. This is the one tool outside the trial that
      takes a text, or the one with a suitable name. If each type of answer has a tool, the first one is used. Without
      a finish tool, the tool with such a name, or else the first tool, is called with minimal valid arguments, as no
      model could answer.
    * If no call is demanded, the finish tool is only called if its name says that it is one.
    * A finish tool that the adapter declares is called if it is offered.
    * Any other text is put into JSON that fits the request's schema.

    Args:
        tools: the tools of the trial.
        declared: the name of the adapter's finish tool; empty if it declares none.
        expected: the names of the tools in the script. They are not finish tools, even if they take a text.
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
    """Return the function that takes a model's answer, if there is exactly one candidate."""
    offers = Offers(tools, functions)
    foreign = [one for one in functions if offers.tool(one.name) is None]
    named = [one for one in foreign if plain_name(one.name) in FINISHES and _takes_answer(one)]
    typed = [one for one in foreign if is_finish(one.name) and _takes_answer(one)][:1]
    found = named or typed or [one for one in foreign if one.name not in expected and _takes_text(one)]
    return found[0] if len(found) == 1 else None


def _calling(turn: ModelTurn, call: Call) -> ModelTurn:
    """Return the turn with this call alone. Other calls of the policy count as not played."""
    played = turn.played if call in turn.calls else ()
    return replace(turn, text=None, calls=(call,), played=played)


def _ending(function: OfferedTool, text: str | None) -> Call:
    """Return a call with a text in its arguments, or with minimal arguments if there is no text or no place for it."""
    arguments = None if text is None else filled_with(function.parameters, text)
    if not isinstance(arguments, dict):
        arguments = minimal_arguments(function.parameters)
    return Call(function.name, json.dumps(arguments, ensure_ascii=False))


def _takes_answer(function: OfferedTool) -> bool:
    """Return whether a function takes any text, anywhere in its arguments."""
    return isinstance(filled_with(function.parameters, PROBE), dict)


def _takes_text(function: OfferedTool) -> bool:
    """Return whether a function has a top-level parameter that takes any text."""
    found = filled_with(function.parameters, PROBE)
    return isinstance(found, dict) and PROBE in found.values()
