"""Tool schemas and arguments of calls, as a framework passes them on."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import Field

from trialbed.records import Json, Limits, Record, ToolSpec, WireLog
from trialbed.wire.hard_schemas import HardSchema, hard_schemas
from trialbed_adapter_lab.errors import NotMeasured
from trialbed_adapter_lab.fidelity.reading import (
    COMPARED,
    Difference,
    Effect,
    Order,
    SentTool,
    body,
    differences,
    find_changes,
    match_tools,
    order_of,
    sent_tools,
    worst,
)
from trialbed_adapter_lab.harness import Observed, WorkerHarness, hard_scenario, stations

Called = Literal["as sent", "changed", "not made", "impossible", "not told"]

MOST_TRIALS = 150
"""Trials that the search for the tools with which a framework fails may take; a tool alone takes fifteen at most."""

LIMITS = Limits(max_steps=3, timeout=90.0)


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


async def measure_schemas(harness: WorkerHarness) -> ToolSchemas:
    """Offer all hard schemas, have every tool called, and compare.

    Raises:
        NotMeasured: the framework fails with any tool, or with so many that the search takes too many trials.
    """
    offers = _SchemaTrials(harness)
    findings = await offers.findings(hard_schemas())
    return ToolSchemas(findings=findings, order=worst(offers.orders), trials=offers.trials, others=tuple(offers.others))


class _SchemaTrials:
    """Offers schemas, all at once if that works, else half of them at a time."""

    def __init__(self, harness: WorkerHarness) -> None:
        self._harness = harness
        self.trials = 0
        self.orders: list[Order] = []
        self.others: dict[str, None] = {}

    async def findings(self, schemas: tuple[HardSchema, ...]) -> tuple[SchemaFinding, ...]:
        seen = await self._play(schemas)
        if seen.failure is not None and len(schemas) > 1:
            await self._check_search()
            middle = len(schemas) // 2
            return (*await self.findings(schemas[:middle]), *await self.findings(schemas[middle:]))
        if not seen.requests:
            return tuple(_refusal(schema, seen) for schema in schemas)
        tools = sent_tools(body(seen.requests[0]))
        partners = match_tools(_specs(schemas), tools)
        self.orders.append(order_of([schema.name for schema in schemas], partners, tools))
        self.others |= dict.fromkeys(tool.name for tool in tools if tool not in partners.values())
        return findings_of(schemas, tools, seen)

    async def _check_search(self) -> None:
        """Check that it makes sense to search for the tools with which the framework fails.

        Raises:
            NotMeasured: it fails with the plainest tool too, or the search takes too many trials.
        """
        if self.trials == 1:
            plain = await self._harness.run(stations(1, 1, limits=LIMITS))
            if plain.ended:
                raise NotMeasured(plain.ended)
        if self.trials >= MOST_TRIALS:
            raise NotMeasured(
                f"the framework fails with so many tools that {MOST_TRIALS} trials were not enough to find them all"
            )

    async def _play(self, schemas: tuple[HardSchema, ...]) -> Observed:
        self.trials += 1
        return await self._harness.run(hard_scenario(schemas, model="scripted:parallel", limits=LIMITS))


def findings_of(schemas: Sequence[HardSchema], tools: Sequence[SentTool], seen: Observed) -> tuple[SchemaFinding, ...]:
    """Return the findings on these schemas, which were offered together."""
    partners = match_tools(_specs(schemas), tools)
    calls = _Calls(seen.wire)
    return tuple(
        finding_of(schema, partners.get(schema.name), seen.ended).model_copy(update=calls.of(schema))
        for schema in schemas
    )


def finding_of(schema: HardSchema, sent: SentTool | None, reason: str = "") -> SchemaFinding:
    """Return the finding on one schema, without its call."""
    finding = SchemaFinding(name=schema.name, stresses=schema.stresses, reason=reason)
    if sent is None:
        return finding.model_copy(update={"effects": ("missing",)})
    effects, found = find_changes(schema.tool, sent)
    others = {key: value for key, value in sent.function.items() if key not in ("name", *COMPARED)}
    return finding.model_copy(
        update={
            "effects": effects,
            "differences": found,
            "sent_name": sent.name,
            "beside": {**others, **sent.beside},
        }
    )


def _specs(schemas: Sequence[HardSchema]) -> list[ToolSpec]:
    return [schema.tool for schema in schemas]


def _refusal(schema: HardSchema, seen: Observed) -> SchemaFinding:
    reason = seen.ended or "the framework sent no request to the model"
    effect: Effect = "refused" if seen.ended else "missing"
    return SchemaFinding(name=schema.name, stresses=schema.stresses, effects=(effect,), reason=reason)


class _Calls:
    """The fate of the model's calls in a trial."""

    def __init__(self, wire: WireLog) -> None:
        self._wire = wire
        self._arrived = {call.api: call.arguments for call in reversed(wire.api_calls)}
        self._lost = {lost.tool: lost.detail or lost.reason for lost in wire.lost}
        self._asked = {call.tool_name for turn in wire.model_calls for call in turn.tool_calls if call.problem is None}

    def of(self, schema: HardSchema) -> dict[str, Any]:
        """Return the fields of a finding on this tool that concern its call."""
        if schema.name in self._lost:
            return {"call": "impossible", "call_reason": self._lost[schema.name]}
        if schema.name not in self._asked:
            return {"call": "not told"}
        invented = tuple(filled.argument for filled in self._wire.filled if filled.tool == schema.name)
        if schema.api.ref not in self._arrived:
            return {"call": "not made", "invented": invented}
        found = differences(schema.arguments, self._arrived[schema.api.ref])
        return {"call": "changed" if found else "as sent", "call_differences": found, "invented": invented}
