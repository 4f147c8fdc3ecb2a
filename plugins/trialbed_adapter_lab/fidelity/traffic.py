"""Tool schemas, arguments of calls, prompts and settings, as frameworks pass them on."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Literal

from pydantic import Field

from trialbed.records import COMMON_NAME, Json, Limits, Record, WireLog
from trialbed.wire.dialects import dialect
from trialbed.wire.estimates import compact_bytes, estimated_tokens
from trialbed.wire.hard_schemas import HardSchema, hard_schemas
from trialbed_adapter_lab.differences import Difference, differences
from trialbed_adapter_lab.errors import NotMeasured
from trialbed_adapter_lab.fidelity.reading import (
    COMPARED,
    ORDERS,
    Effect,
    MessageChange,
    Order,
    SentTool,
    body,
    conversation,
    find_changes,
    match_tools,
    message_changes,
    messages,
    order_of,
    sent_tools,
)
from trialbed_adapter_lab.harness import Observed, ObservedRequest, WorkerHarness, hard_scenario, stations

Called = Literal["as sent", "changed", "not made", "impossible", "not told"]

MOST_TRIALS = 150
"""Trials that the search for the tools with which a framework fails may take; a tool alone takes fifteen at most."""

LIMITS = Limits(max_steps=3, timeout=90.0)

PROMPT_CALLS, SETTINGS_CALLS = 3, 2
"""Tool calls of the trials, one per turn; an answer follows."""

ASKED = {"model": COMMON_NAME, "temperature": 0.37, "seed": 4242, "max_tokens": 321}
"""Values that no framework has as its default."""

ALWAYS = frozenset({"messages", "input", "instructions", "system", "tools"})


class SchemaFinding(Record):
    """The finding on one tool.

    Attributes:
        effects: everything that happened to it, none if it was sent as it was given. ``refused``: the framework
            fails if it is offered this tool; ``missing``: it was not sent; ``renamed``: under another name; the
            others are the kinds of ``differences``.
        differences: between description and parameters as given and as sent; pointers begin with
            ``/description`` or ``/parameters``.
        sent_name: the name it was sent under, None if it was not.
        beside: the framework's additions to name, description and parameters, such as ``strict``.
        call: what happened to the model's call of this tool: it reached the Api with the arguments that the model
            sent, with others (``call_differences``), or not at all; or it was ``impossible``, since the offered schema
            has no such arguments, or no offered tool is this one for certain (``call_reason``). ``not told`` where
            there was no such call.
        invented: arguments that the model had to make up, because optional ones were offered as required.
        reason: why it was refused, or why the trial failed after it was sent.
    """

    name: str
    stresses: str
    effects: tuple[Effect, ...] = ()
    differences: tuple[Difference, ...] = ()
    sent_name: str | None = None
    beside: dict[str, Json] = Field(default_factory=dict)
    call: Called = "not told"
    call_differences: tuple[Difference, ...] = ()
    call_reason: str = ""
    invented: tuple[str, ...] = ()
    reason: str = ""


class ToolSchemas(Record):
    """The findings on every hard schema.

    Attributes:
        order: of the tools: as given, sorted by name, or another one.
        trials: in how many trials they were offered; more than one if the framework failed with all of them.
        others: names of tools that the framework offered beside them.
    """

    findings: tuple[SchemaFinding, ...]
    order: Order
    trials: int
    others: tuple[str, ...] = ()

    @property
    def calls(self) -> list[Called]:
        """The fate of every call that the model made."""
        return [finding.call for finding in self.findings if finding.call != "not told"]

    def count(self, *effects: Effect) -> int:
        """Return the number of tools to which one of these happened."""
        return sum(not set(effects).isdisjoint(finding.effects) for finding in self.findings)


class TurnSize(Record):
    """One request, and how it compares with the reference's of the same turn.

    Attributes:
        request_bytes: of the body as it went over the wire.
        message_bytes: of its messages as compact JSON; ``tool_bytes``: of its tools.
        prompt_tokens: of messages and tools, by the estimate of a token per 4 bytes.
        added_bytes: request bytes beyond the reference's; ``added_tokens``: prompt tokens beyond them.
    """

    request_bytes: int
    message_bytes: int
    tool_bytes: int
    prompt_tokens: int
    added_bytes: int
    added_tokens: int


class Prompt(Record):
    """The prompts of one trial, compared with those of the reference.

    Attributes:
        tools: tools on offer.
        turns: request by request, as far as both made one.
        requests: how many the framework made.
        first: the messages of the first request that differ.
        last: the same for the last request that both made, which holds the whole conversation.
        other_tools: the framework's requests, counted from 1, that offer other tools than its first one.
        dialects: those of the requests.
    """

    tools: int
    requests: int
    turns: tuple[TurnSize, ...]
    first: tuple[MessageChange, ...]
    last: tuple[MessageChange, ...]
    other_tools: tuple[int, ...] = ()
    dialects: tuple[str, ...] = ()

    def request_bytes(self, turns: int | None = None) -> tuple[int, int]:
        """Return the request bytes of the first turns, or of all, and how many are beyond the reference's."""
        chosen = self.turns[:turns]
        return sum(turn.request_bytes for turn in chosen), sum(turn.added_bytes for turn in chosen)

    def prompt_tokens(self, turns: int | None = None) -> tuple[int, int]:
        """Return the prompt tokens of the first turns, or of all, and how many are beyond the reference's."""
        chosen = self.turns[:turns]
        return sum(turn.prompt_tokens for turn in chosen), sum(turn.added_tokens for turn in chosen)


class SentSetting(Record):
    """One setting.

    Attributes:
        name: in chat completions; other dialects may have another name for it.
        asked: the value that was asked for.
        sent: every value that was sent, each once.
        absent: requests without the setting.
        honoured: whether every request had the value asked for.
    """

    name: str
    asked: Json
    sent: tuple[Json, ...]
    absent: int
    honoured: bool


class Settings(Record):
    """The fields of the requests other than messages and tools.

    Attributes:
        settings: those that the dialect of the requests has.
        others: fields that were not asked for -> every value they had, each once.
    """

    requests: int
    settings: tuple[SentSetting, ...]
    others: dict[str, tuple[Json, ...]]


async def measure_schemas(harness: WorkerHarness) -> ToolSchemas:
    """Offer all hard schemas, have every tool called, and compare.

    All are offered at once if that works, else half of them at a time.

    Raises:
        NotMeasured: the framework fails with any tool, or with so many that the search takes too many trials.
    """
    trials = 0
    orders: list[Order] = []
    others: dict[str, None] = {}

    async def measure(schemas: Sequence[HardSchema]) -> tuple[SchemaFinding, ...]:
        nonlocal trials
        trials += 1
        seen = await harness.run(hard_scenario(tuple(schemas), model="scripted:parallel", limits=LIMITS))
        if seen.failure is not None and len(schemas) > 1:
            if trials == 1 and (ended := (await harness.run(stations(1, 1, limits=LIMITS))).ended):
                raise NotMeasured(ended)  # it fails with the plainest tool too
            if trials >= MOST_TRIALS:
                raise NotMeasured(
                    f"the framework fails with so many tools that {MOST_TRIALS} trials were not enough to find them all"
                )
            middle = len(schemas) // 2
            return (*await measure(schemas[:middle]), *await measure(schemas[middle:]))
        if not seen.requests:
            effect: Effect = "refused" if seen.ended else "missing"
            reason = seen.ended or "the framework sent no request to the model"
            return tuple(
                SchemaFinding(name=one.name, stresses=one.stresses, effects=(effect,), reason=reason) for one in schemas
            )
        tools = sent_tools(body(seen.requests[0]))
        partners = match_tools([schema.tool for schema in schemas], tools)
        orders.append(order_of([schema.name for schema in schemas], partners, tools))
        others.update(dict.fromkeys(tool.name for tool in tools if tool not in partners.values()))
        return findings_of(schemas, tools, seen)

    findings = await measure(hard_schemas())
    order = max(orders, key=ORDERS.index, default="kept")
    return ToolSchemas(findings=findings, order=order, trials=trials, others=tuple(others))


def findings_of(schemas: Sequence[HardSchema], tools: Sequence[SentTool], seen: Observed) -> tuple[SchemaFinding, ...]:
    """Return the findings on these schemas, which were offered together."""
    partners = match_tools([schema.tool for schema in schemas], tools)
    return tuple(_finding(schema, partners.get(schema.name), seen) for schema in schemas)


def _finding(schema: HardSchema, sent: SentTool | None, seen: Observed) -> SchemaFinding:
    found: dict[str, Any] = {"effects": ("missing",)}
    if sent is not None:
        effects, changes = find_changes(schema.tool, sent)
        others = {key: value for key, value in sent.function.items() if key not in ("name", *COMPARED)}
        beside = {**others, **sent.beside}
        found = {"effects": effects, "differences": changes, "sent_name": sent.name, "beside": beside}
    about = {"name": schema.name, "stresses": schema.stresses, "reason": seen.ended}
    return SchemaFinding(**about, **found, **_call(schema, seen.wire))


def _call(schema: HardSchema, wire: WireLog) -> dict[str, Any]:
    """Return the fields of a finding on this tool that concern the model's call of it."""
    for lost in reversed(wire.lost):
        if lost.tool == schema.name:
            return {"call": "impossible", "call_reason": lost.detail or lost.reason}
    calls = (call for turn in wire.model_calls for call in turn.tool_calls)
    if not any(call.tool_name == schema.name and call.problem is None for call in calls):
        return {"call": "not told"}
    invented = tuple(filled.argument for filled in wire.filled if filled.tool == schema.name)
    arrived = [call.arguments for call in wire.api_calls if call.api == schema.api.ref]
    if not arrived:
        return {"call": "not made", "invented": invented}
    found = differences(schema.arguments, arrived[0])
    return {"call": "changed" if found else "as sent", "call_differences": found, "invented": invented}


async def run_prompt_trial(harness: WorkerHarness, tools: int) -> Observed:
    """Run the trial that prompts are compared on."""
    return await harness.run(stations(tools, PROMPT_CALLS))


async def measure_prompt(harness: WorkerHarness, reference: Callable[[str], Awaitable[Observed]], tools: int) -> Prompt:
    """Run a trial and compare its requests with the reference's.

    Args:
        reference: returns the reference's trial in a dialect.

    Raises:
        NotMeasured: one of the two trials failed.
    """
    seen = (await run_prompt_trial(harness, tools)).require_success()
    return compare_prompts((await reference(seen.requests[0].dialect)).require_success(), seen, tools)


def compare_prompts(reference: Observed, seen: Observed, tools: int) -> Prompt:
    """Return the differences between a trial's requests and the reference's."""
    pairs = list(zip(reference.requests, seen.requests, strict=False))
    first, last = (
        message_changes(messages(body(plain)), messages(body(sent))) for plain, sent in (pairs[0], pairs[-1])
    )
    offered = [body(request).get("tools", []) for request in seen.requests]
    return Prompt(
        tools=tools,
        requests=len(seen.requests),
        turns=tuple(_size(*pair) for pair in pairs),
        first=first,
        last=last,
        other_tools=tuple(number for number, sent in enumerate(offered, 1) if differences(offered[0], sent)),
        dialects=tuple(dict.fromkeys(request.dialect for request in seen.requests)),
    )


def _size(reference: ObservedRequest, request: ObservedRequest) -> TurnSize:
    plain, sent = (
        {"messages": conversation(one), "tools": one.get("tools", [])} for one in (body(reference), body(request))
    )
    size, tokens = len(request.received.body), estimated_tokens(sent)
    return TurnSize(
        request_bytes=size,
        message_bytes=compact_bytes(sent["messages"]),
        tool_bytes=compact_bytes(sent["tools"]),
        prompt_tokens=tokens,
        added_bytes=size - len(reference.received.body),
        added_tokens=tokens - estimated_tokens(plain),
    )


async def measure_settings(harness: WorkerHarness, tools: int) -> Settings:
    """Ask for settings and read what arrives.

    Raises:
        NotMeasured: the trial failed, or a request cannot be read.
    """
    settings: dict[str, Any] = {name: value for name, value in ASKED.items() if name != "model"}
    return settings_of((await harness.run(stations(tools, SETTINGS_CALLS, **settings))).require_success(), ASKED)


def settings_of(seen: Observed, asked: Mapping[str, Any]) -> Settings:
    """Return the settings of a trial's requests."""
    requests = [body(request) for request in seen.requests]
    names = {name: own for name in asked if (own := _own_name(name, seen.requests[0].dialect)) is not None}
    others = sorted({key for request in requests for key in request} - {*names.values()} - ALWAYS)
    return Settings(
        requests=len(requests),
        settings=tuple(_setting(name, asked[name], own, requests) for name, own in names.items()),
        others={key: _values(key, requests) for key in others},
    )


def _own_name(name: str, spoken: str) -> str | None:
    """Return a dialect's own name of a setting; None if it has no such setting."""
    mark = object()
    written = dialect(spoken).write_request("", (), {name: mark}) if name != "model" else {name: mark}
    return next((own for own, value in written.items() if value is mark), None)


def _setting(name: str, asked: Any, own: str, requests: Sequence[Mapping[str, Any]]) -> SentSetting:
    sent, absent = _values(own, requests), sum(own not in request for request in requests)
    honoured = not absent and len(sent) == 1 and not differences(asked, sent[0])
    return SentSetting(name=name, asked=asked, sent=sent, absent=absent, honoured=honoured)


def _values(key: str, requests: Sequence[Mapping[str, Any]]) -> tuple[Any, ...]:
    """Return every value of a field, each once, in order; ``1`` and ``true`` are two values."""
    found = {json.dumps(request[key]): request[key] for request in requests if key in request}
    return tuple(found.values())
