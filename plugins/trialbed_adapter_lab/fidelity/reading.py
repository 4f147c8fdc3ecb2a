"""Reading of requests that frameworks sent. It runs no trial and needs only the wire log.

Tools that were sent are matched with those that were given, and tools, conversations and numbers of requests are
compared with what they should be.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal, get_args

from trialbed.records import Json, Record, ToolSpec
from trialbed.wire.dialects.chat_completions import read_request
from trialbed.wire.offers import Offers
from trialbed_adapter_lab.differences import Difference, differences
from trialbed_adapter_lab.errors import NotMeasured
from trialbed_adapter_lab.harness import ObservedRequest

Effect = Literal["refused", "missing", "renamed", "lost", "added", "changed", "reordered"]
Order = Literal["kept", "by name", "changed"]

ORDERS: tuple[Order, ...] = get_args(Order)
"""The last one is the furthest from the one given."""

TYPES = ("function", "custom")
"""Types of the tools that a client runs."""

OWN_NAMES = {"input_schema": "parameters"}
"""A dialect's own name of a field -> that of chat completions."""

COMPARED = ("description", "parameters")
"""Fields of a function that are compared with the given ones; its name is compared apart."""

IDS = frozenset(("id", "call_id", "tool_call_id", "tool_use_id"))
"""Fields that hold the id of a call, or of an item."""

ITEMS = frozenset(("message", "reasoning"))
"""Types of items whose ``id`` is no call's, though they have no ``call_id`` beside it."""


class Requests(Record):
    """The requests of one trial.

    Attributes:
        expected: how many the scripted model's turns explain.
        seen: all that came.
        repeated: of those seen, equal to an earlier one: retries.
        aside: of the others, those that are not the next step of the conversation: hidden calls.
    """

    expected: int
    seen: int
    repeated: int
    aside: int

    @property
    def beyond(self) -> int:
        """Steps of the conversation beyond the expected ones; negative where some are missing."""
        return self.seen - self.repeated - self.aside - self.expected

    @property
    def missing(self) -> int:
        """Steps that the model's turns call for, and that did not come."""
        return max(0, -self.beyond)

    @property
    def extra(self) -> int:
        """Requests that no turn of the model explains."""
        return self.repeated + self.aside + max(0, self.beyond)


class MessageChange(Record):
    """One message that differs from the reference's.

    Attributes:
        kind: ``added``: the reference sent no such message; ``lost``: only the reference did; ``changed``: both did.
        index: its place among the framework's messages, of a lost one among the reference's.
        role: as the framework sent it, of a lost one as the reference did; the type of an item that has no role.
        message: the message as it was sent; of a lost one as the reference sent it.
        differences: of a changed one, to the reference's.
    """

    kind: Literal["added", "lost", "changed"]
    index: int
    role: str
    message: Json
    differences: tuple[Difference, ...] = ()


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


def body(request: ObservedRequest) -> Mapping[str, Any]:
    """Return the request's body.

    Raises:
        NotMeasured: the log does not have all of it, or it is not a JSON object.
    """
    if request.received.problem:
        raise NotMeasured(request.received.problem)
    return request.body


def explain(requests: Sequence[ObservedRequest], expected: int) -> Requests:
    """Sort the requests of a trial.

    The next step of a conversation is the first request that holds as many messages of the model as there were
    steps before.

    Raises:
        NotMeasured: a request cannot be read.
    """
    known: set[str] = set()
    steps = aside = repeated = 0
    for request in requests:
        text = json.dumps(body(request), sort_keys=True)
        if text in known:
            repeated += 1
        elif request.roles.count("assistant") == steps:
            steps += 1
        else:
            aside += 1
        known.add(text)
    return Requests(expected=expected, seen=len(requests), repeated=repeated, aside=aside)


def conversation(request: Mapping[str, Any]) -> list[Any]:
    """Return the conversation of a request as its dialect has it, its instructions as a first message."""
    told = request.get("instructions") or request.get("system")
    said: Any = next((request[name] for name in ("messages", "input") if name in request), [])
    first = [{"role": "system", "content": told}] if told else []
    return [*first, *(said if isinstance(said, list) else [{"role": "user", "content": said}])]


def messages(request: Mapping[str, Any]) -> list[Any]:
    """Return the request's messages or items, its instructions first.

    The ids of tool calls and items are numbered in order of appearance, since they differ from trial to trial.
    """
    # An item has both kinds in any order, so neither may count the other.
    calls: dict[str, str] = {}
    items: dict[str, str] = {}

    def number(value: Any) -> Any:
        if isinstance(value, list):
            return [number(one) for one in value]
        if isinstance(value, dict):
            return {key: number_field(key, one, value) for key, one in value.items()}
        return value

    def number_field(key: str, value: Any, around: Mapping[str, Any]) -> Any:
        if key == "input" and around.get("type") == "tool_use":
            return value  # arguments of a call, whose names are the tool's
        if key not in IDS or not isinstance(value, str):
            return number(value)
        if key == "id" and ("call_id" in around or around.get("type") in ITEMS):
            return items.setdefault(value, f"item-{len(items) + 1}")
        return calls.setdefault(value, f"call-{len(calls) + 1}")

    return [number(one) for one in conversation(request)]


def message_changes(reference: Sequence[Any], sent: Sequence[Any]) -> tuple[MessageChange, ...]:
    """Return every message that differs; ids of tool calls must have been numbered in both.

    The order of a message's keys does not count: the model does not see it.
    """
    before, after = ([json.dumps(message, sort_keys=True) for message in side] for side in (reference, sent))
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    old, new = ([json.loads(message) for message in side] for side in (before, after))
    return tuple(
        change
        for tag, first, last, start, stop in blocks
        if tag != "equal"
        for change in _compare_blocks(old, new, range(first, last), range(start, stop))
    )


def _compare_blocks(reference: Sequence[Any], sent: Sequence[Any], old: range, new: range) -> Iterator[MessageChange]:
    pairs = _pairs(reference, sent, old, new)
    for index in new:
        message = sent[index]
        found = differences(reference[pairs[index]], message) if index in pairs else ()
        kind: Literal["changed", "added"] = "changed" if index in pairs else "added"
        yield MessageChange(kind=kind, index=index, role=_role(message), message=message, differences=found)
    for index in (index for index in old if index not in pairs.values()):
        yield MessageChange(kind="lost", index=index, role=_role(reference[index]), message=reference[index])


def _pairs(reference: Sequence[Any], sent: Sequence[Any], old: range, new: range) -> dict[int, int]:
    """Return ``index of a sent message -> index of the reference's``: messages of one role, in order.

    ``system`` and ``developer`` are one role under two names. Blocks of one length are paired in place.
    """
    if len(old) == len(new):
        return dict(zip(new, old, strict=True))
    pairs: dict[int, int] = {}
    left = list(old)
    for index in new:
        role, text = _role(sent[index]).replace("developer", "system"), json.dumps(sent[index])
        alike = [other for other in left if _role(reference[other]).replace("developer", "system") == role]
        if alike:
            likeness = [SequenceMatcher(None, json.dumps(reference[other]), text).ratio() for other in alike]
            pairs[index] = alike[likeness.index(max(likeness))]
            left = [other for other in left if other > pairs[index]]
    return pairs


def _role(message: Any) -> str:
    """Return the role of a message; of an item of Responses that has none, its type in words."""
    if not isinstance(message, dict):
        return ""
    return str(message.get("role") or str(message.get("type", "")).replace("_", " "))


def sent_tools(request: Mapping[str, Any]) -> list[SentTool]:
    """Return the tools of a request, in its order.

    Raises:
        NotMeasured: one of them is not a function tool.
    """
    return [_sent_tool(tool) for tool in request.get("tools") or []]


def _sent_tool(tool: Any) -> SentTool:
    """Return a tool; in dialects other than chat completions, it is its function itself."""
    given = tool if isinstance(tool, dict) else {}
    beside = {key: value for key, value in given.items() if key != "type" or value not in TYPES}
    if "function" in given or not (given.get("type") in TYPES or "input_schema" in given):
        function = beside.pop("function", None)
    else:
        own = [key for key in ("name", *COMPARED, *OWN_NAMES) if key in beside]
        function = {OWN_NAMES.get(key, key): beside.pop(key) for key in own}
    if not isinstance(function, dict) or not isinstance(function.get("name"), str):
        raise NotMeasured(f"a tool is not a function in the format of a dialect: {json.dumps(tool)[:200]}")
    return SentTool(function["name"], function, beside)


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
    return tuple(effect for effect in get_args(Effect) if effect in kinds), found


def order_of(given: Sequence[str], partners: Mapping[str, SentTool], sent: Sequence[SentTool]) -> Order:
    """Return the order of the tools that were sent."""
    wanted = [partners[name] for name in given if name in partners]
    found = [tool for tool in sent if tool in wanted]
    if wanted == found:
        return "kept"
    names = [tool.name for tool in found]
    return "by name" if names in (sorted(names), sorted(names, key=str.lower)) else "changed"
