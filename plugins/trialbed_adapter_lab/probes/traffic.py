"""Compare the tools, prompts and requests that a framework sends with the given ones."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast
from weakref import WeakKeyDictionary

from trialbed.contracts import SYSTEM_PROMPT, BaseAgent
from trialbed.drivers import load_driver
from trialbed.records import COMMON_NAME, Json, ScriptedCall
from trialbed.texts import one_line
from trialbed.wire.dialects import CHAT
from trialbed.wire.estimates import estimated_tokens
from trialbed.wire.hard_schemas import HardSchema, hard_schemas
from trialbed_adapter_lab.differences import Difference, differences, without_varying_parts
from trialbed_adapter_lab.harness import Harness, ObservedRequest, ScriptedTool, TrialRecord, echo
from trialbed_adapter_lab.probe import CheckFailed, Theme
from trialbed_adapter_lab.trials import QUERY, Script, expect_answer, expect_requests, play, stations

TRAFFIC = Theme("traffic", "Compare the tools, prompts and requests that a framework sends with the given ones.")

TOOLS, CALLS = 20, 3
"""The tools and calls of the trial that is compared with the reference's: a call per turn, and an answer."""

FEW_TOOLS = 4
"""The tools of the trial that shows whole requests."""

STEPS, TIMEOUT = 3, 90.0
"""Requests and seconds of a trial with hard schemas."""

COMPARED = ("description", "parameters")
"""Fields of a function that are compared with the given ones."""

CHANGES = ("lost", "added", "changed", "reordered")
"""Kinds of differences, in display order."""

CONVERSATIONS = ("messages", "input", "instructions", "system")
"""Fields of a request that are its conversation, in one dialect or another."""

IDS = frozenset(("id", "call_id", "tool_call_id", "tool_use_id"))
"""Fields that hold the id of a call, or of an item."""

ITEMS = frozenset(("message", "reasoning"))
"""Types of items with an ``id`` that is not a call's, although they have no ``call_id``."""


LONGEST = 100
"""Characters of a reason that are shown."""


@dataclass
class _Offer:
    """A hard schema as the model received it, and the result of the model's call.

    Attributes:
        fate: ``missing`` if it was not sent, ``refused`` if the framework fails with it; else empty.
        changes: to its description and parameters.
        renamed: whether it was sent under another name.
        beside: additional fields.
        call: ``as sent``, ``changed``, ``not made``; ``impossible`` if the offered schema allows no such arguments, or
            no offered tool is this one for certain; empty if the model made no such call.
        invented: whether the model had to make up arguments, because optional ones were offered as required.
        others: names of further tools offered in this trial.
        in_order: whether this trial kept the order of the tools.
        reason: the framework's error if it fails with it.
    """

    name: str
    fate: str = "missing"
    changes: tuple[Difference, ...] = ()
    renamed: bool = False
    beside: dict[str, Json] = field(default_factory=dict)
    call: str = ""
    invented: bool = False
    reason: str = ""
    others: frozenset[str] = frozenset()
    in_order: bool = True

    @property
    def kinds(self) -> Counter[str]:
        """The number of changes of each kind."""
        return Counter(change.kind for change in self.changes)

    @property
    def is_as_given(self) -> bool:
        """It was offered unchanged."""
        return not (self.fate or self.changes or self.renamed)

    def __str__(self) -> str:
        shown = []
        for kind in CHANGES:
            places = [change.pointer for change in self.changes if change.kind == kind]
            shown += [f"{kind} {places[0]}{f' and {len(places) - 1} more' * (len(places) > 1)}"] if places else []
        shown += ["renamed"] * self.renamed + [f"{self.fate}{self.reason and f': {self.reason}'}"] * bool(self.fate)
        shown += [f"call {self.call}"] if self.call not in ("", "as sent") else []
        return ", ".join(shown) or "as given"


_MEASURED: WeakKeyDictionary[Harness, list[_Offer]] = WeakKeyDictionary()
"""The findings of harnesses whose framework was offered the hard schemas, which takes many trials if it fails."""


@TRAFFIC.info(reason="Every framework is to offer the same tools, and to make the calls that the model asks for.")
async def hard_schemas_are_offered(harness: Harness) -> Json:
    """A hundred tools with hard names and schemas: how they are offered, and their calls."""
    tools = await _measure(harness)
    calls = [one for one in tools if one.call]

    def some(has: Callable[[_Offer], Any]) -> str:
        return f"{sum(bool(has(one)) for one in tools) or 'none'}"

    beside = Counter(f"{key}: {json.dumps(value)}" for one in tools for key, value in one.beside.items())
    return {
        "tools lost": some(lambda one: one.fate),
        "tool not sent": some(lambda one: one.fate == "missing"),
        "framework fails with it": some(lambda one: one.fate == "refused"),
        "tools renamed": some(lambda one: one.renamed),
        "tools added": str(len(frozenset().union(*(one.others for one in tools))) or "none"),
        "order of the tools": "kept" if all(one.in_order for one in tools) else "changed",
        "schemas changed": some(lambda one: one.changes),
        "schemas sent as given": f"{sum(one.is_as_given for one in tools)} of {len(tools)}",
        "only order changed": some(lambda one: one.kinds and not {*one.kinds} - {"reordered"} and not one.renamed),
        "fields lost": some(lambda one: one.kinds["lost"]),
        "fields added": some(lambda one: one.kinds["added"]),
        "values changed": some(lambda one: one.kinds["changed"]),
        "added next to the schema": _count(beside.elements()),
        "calls as sent": f"{sum(one.call == 'as sent' for one in calls)} of {len(calls)}",
        "calls, arguments changed": some(lambda one: one.call == "changed"),
        "… with values made up": some(lambda one: one.invented),
        "calls not made": some(lambda one: one.call == "not made"),
        "calls made impossible": some(lambda one: one.call == "impossible"),
    }


@TRAFFIC.info(reason="Every framework is to offer the same tools, and to make the calls that the model asks for.")
async def hard_schemas_by_tool(harness: Harness) -> Json:
    """Each of these tools: the differences of its schema, and the fate of its call."""
    return {one.name: str(one) for one in await _measure(harness)}


@TRAFFIC.info(reason="Words that a framework adds are instructions that the others did not get, and cost tokens.")
async def prompt_beside_the_reference(harness: Harness) -> Json:
    """The requests of a trial with 20 tools and 3 calls, next to those of the plain loop."""
    record = await _converse(harness, TOOLS)
    sent = [request.body for request in record.requests]
    spoken = record.requests[0].dialect
    plain = (await _reference_trial(harness, spoken)).requests
    pairs = list(zip((request.body for request in plain), sent, strict=False))
    sizes = [len(request.received.body) for request in record.requests[: len(pairs)]]
    usual = [len(request.received.body) for request in plain[: len(pairs)]]
    tokens, usual_tokens = ([estimated_tokens(_prompt(pair[side])) for pair in pairs] for side in (1, 0))
    first, last = (_others(messages(one), messages(other)) for one, other in (pairs[0], pairs[-1]))
    tools = [one.get("tools", []) for one in sent]
    others = [str(number) for number, one in enumerate(tools, 1) if differences(tools[0], one)]
    return {
        "dialect": ", ".join(dict.fromkeys(request.dialect for request in record.requests)),
        "bytes": _size(sum(sizes), sum(usual)),
        "bytes, first request": _size(sizes[0], usual[0]),
        "tokens": _size(sum(tokens), sum(usual_tokens)),
        "tokens, first request": _size(tokens[0], usual_tokens[0]),
        "messages changed": str(len(last) or "none"),
        "messages changed at first": _count(first),
        "messages changed by the end": _count(last),
        "requests with other tools": ", ".join(others) or "none",
    }


@TRAFFIC.info(reason="The whole requests say what a new release sends otherwise.")
async def requests_of_a_trial(harness: Harness) -> Json:
    """The bodies of all requests of a trial with 4 tools and 3 calls, with numbers in place of ids."""
    return [_comparable(request) for request in (await _converse(harness, FEW_TOOLS)).requests]


async def _measure(harness: Harness) -> list[_Offer]:
    """Offer and call all hard schemas together, or in halves if the framework fails with one."""
    if harness not in _MEASURED:
        expect_answer(await _play(harness, "gold", *stations(1, 1)))
        _MEASURED[harness] = await _offer(harness, hard_schemas())
    return _MEASURED[harness]


async def _offer(harness: Harness, schemas: Sequence[HardSchema]) -> list[_Offer]:
    tools = [ScriptedTool(schema.tool, echo) for schema in schemas]
    script = tuple(ScriptedCall(name=schema.name, arguments=schema.arguments) for schema in schemas)
    record, failure = None, ""
    try:
        record = await _play(harness, "parallel", tools, script, max_steps=STEPS, timeout=TIMEOUT)
        failure = record.failure.message if record.failure else ""
    except CheckFailed as error:
        failure = error.args[0]
    if failure and len(schemas) > 1:
        middle = len(schemas) // 2
        return [*await _offer(harness, schemas[:middle]), *await _offer(harness, schemas[middle:])]
    if record is None or not record.requests:
        fate = "refused" if failure else "missing"
        reason = without_varying_parts(one_line(failure, LONGEST))
        return [_Offer(schema.name, fate, reason=reason) for schema in schemas]
    return [*_read_offers(schemas, record)]


def _read_offers(schemas: Sequence[HardSchema], record: TrialRecord) -> Iterator[_Offer]:
    first, turns = record.requests[0], [request.said for request in record.requests if request.said]
    functions = {str(function["name"]): function for function in first.functions}
    partners = {schema.name: first.offers.function(schema.name) for schema in schemas}
    names = [function.name for _, function in sorted(partners.items()) if function is not None]
    in_order = names == [name for name in functions if name in names]
    for schema in schemas:
        partner = partners[schema.name]
        offer = _Offer(schema.name, call=_call(schema, record), in_order=in_order)
        offer.others = frozenset(functions.keys() - {*names})
        offer.invented = any(one.tool == schema.name for turn in turns for one in turn.filled)
        if partner is not None:
            sent = functions[partner.name]
            given = {"description": schema.description, "parameters": schema.parameters}
            offer.changes = differences(given, {key: sent[key] for key in COMPARED if key in sent})
            offer.fate, offer.renamed = "", partner.name != schema.name
            offer.beside = {key: value for key, value in sent.items() if key not in ("name", *COMPARED)}
        yield offer


def _call(schema: HardSchema, record: TrialRecord) -> str:
    """Return the fate of the model's call of a tool."""
    turns = [(request, request.said) for request in record.requests if request.said]
    played = {place for _, turn in turns for place in turn.played}
    if any(lost.tool == schema.name and lost.position not in played for _, turn in turns for lost in turn.lost):
        return "impossible"
    if not any(request.own_name(call.name) == schema.name for request, turn in turns for call in turn.calls):
        return ""
    arrived = [call.arguments for call in record.calls if call.tool == schema.name]
    if not arrived:
        return "not made"
    return "changed" if differences(schema.arguments, arrived[0]) else "as sent"


async def _converse(harness: Harness, tools: int) -> TrialRecord:
    """Run a trial with plain tools that calls some of them, one per turn."""
    record = await _play(harness, "gold", *stations(tools, CALLS))
    expect_answer(record)
    expect_requests(record, 1, or_more=True)
    return record


async def _reference_trial(harness: Harness, spoken: str) -> TrialRecord:
    name = "reference" if spoken == CHAT else f"reference-{spoken}"
    return await _converse(harness.with_agent(cast("type[BaseAgent]", load_driver("frameworks", name))), TOOLS)


async def _play(
    harness: Harness, policy: str, tools: Sequence[ScriptedTool], script: Script, **limits: Any
) -> TrialRecord:
    lines = play(policy, tools, script, turns=CALLS + 5)
    return await harness.run(*lines, tools=tools, query=QUERY, system_prompt=SYSTEM_PROMPT, model=COMMON_NAME, **limits)


def _prompt(body: Any) -> Any:
    return {"messages": conversation(body), "tools": body.get("tools", [])}


def _comparable(request: ObservedRequest) -> dict[str, Json]:
    """Return a request with its conversation first and numbered ids."""
    others = {name: value for name, value in sorted(request.body.items()) if name not in CONVERSATIONS}
    return {"conversation": messages(request.body), **others}


def _size(size: int, usual: int) -> str:
    """Return a size and its difference from the reference's, also in percent."""
    share = 100 * (size - usual) / usual
    percent = f", {share:+.0f} %" if abs(share) >= 0.5 else ", <1 %" if share else ""
    return f"{size:,} ({size - usual:+,}{percent})"


def _count(names: Iterable[str]) -> str:
    """Return every distinct name, with its count if above one."""
    counts = Counter(names).items()
    return ", ".join(name if count == 1 else f"{name} ({count})" for name, count in counts) or "none"


def conversation(request: Mapping[str, Any]) -> list[Any]:
    """Return the conversation of a request in its dialect, with the instructions as the first message."""
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

    def number(one: dict[str, Any]) -> dict[str, Any]:
        is_item = "call_id" in one or one.get("type") in ITEMS
        for key in IDS & one.keys():
            ids, word = (items, "item") if key == "id" and is_item else (calls, "call")
            if isinstance(one[key], str):
                one[key] = ids.setdefault(one[key], f"{word}-{len(ids) + 1}")
        return one

    # No argument of these trials' calls is named like an id.
    found: list[Any] = json.loads(json.dumps(conversation(request)), object_hook=number)
    return found


def _others(reference: Sequence[Any], sent: Sequence[Any]) -> list[str]:
    """Return the roles of messages that the reference does not send. Call ids must be numbered in both."""
    return [_role(message) for message in sent if message not in reference]


def _role(message: Any) -> str:
    """Return the role of a message, or the type of a Responses item without a role."""
    if not isinstance(message, dict):
        return ""
    return str(message.get("role") or str(message.get("type", "")).replace("_", " "))
