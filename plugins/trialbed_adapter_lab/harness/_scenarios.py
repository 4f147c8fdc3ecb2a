"""Scenarios: the tools on offer, a policy of the scripted model, and the settings that are asked for."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from trialbed.records import Api, Limits, Parameter, ScriptedCall, ToolSpec
from trialbed.wire.hard_schemas import HardSchema

CATEGORY = "Fidelity"
QUERY = "Report on the stations that matter today, and say what each of them measured."
SLOW = "slow"
"""The simulator whose answers take half a second each."""

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """One trial to run, the same for every framework.

    Attributes:
        tools: on offer. ``apis``: those behind the tools that are called.
        script: the calls of the scripted model.
        model: ``scripted:<policy>``, or ``refuse-<status>`` for an endpoint that refuses.
        simulator: the simulator that answers for the Apis.
    """

    tools: tuple[ToolSpec, ...]
    apis: tuple[Api, ...]
    script: tuple[ScriptedCall, ...]
    model: str = "scripted:gold"
    query: str = QUERY
    simulator: str = "template"
    limits: Limits = field(default_factory=lambda: Limits(timeout=60.0))
    temperature: float = 0.0
    max_tokens: int | None = None
    seed: int = 0


def stations(tools: int, calls: int, mark: str = "", **settings: Any) -> Scenario:
    """Return a scenario with plain tools of one kind, whose schemas any framework can handle.

    Args:
        tools: how many are offered.
        calls: how many expected calls there are, each of another tool, spread over all tools.
        mark: a part of the arguments; the response cache has no answer for a new one.
        settings: further fields of the scenario.
    """
    apis = [_station(number) for number in range(tools)]
    chosen = [index * (tools - 1) // max(1, calls - 1) for index in range(calls)]
    offered = tuple(_tool(api) for api in apis)
    return Scenario(
        tools=offered,
        apis=tuple(apis[index] for index in dict.fromkeys(chosen)),
        script=tuple(
            ScriptedCall(name=offered[index].name, arguments={"instrument": f"gauge{mark}-{number}", "day": "Wed"})
            for number, index in enumerate(chosen)
        ),
        **settings,
    )


def hard_scenario(schemas: Sequence[HardSchema], **settings: Any) -> Scenario:
    """Return a scenario that offers these tools and has each of them called with its arguments."""
    return Scenario(
        tools=tuple(schema.tool for schema in schemas),
        apis=tuple(schema.api for schema in schemas),
        script=tuple(ScriptedCall(name=schema.name, arguments=schema.arguments) for schema in schemas),
        **settings,
    )


@cache
def right_outcomes(calls: int, limit: int) -> dict[str, tuple[int, int]]:
    """Return ``policy -> its turns and calls`` through a framework that changes nothing, from the truth table.

    Args:
        calls: how many are expected, each of another tool. ``limit``: of requests.
    """
    matrix = tomllib.loads(files("trialbed_scripted").joinpath("cells.toml").read_text(encoding="utf-8"))
    rows = {policy: {**matrix["fields"], **row} for policy, row in matrix["right"].items()}
    names = {"__builtins__": {}, "n": calls, "l": limit}
    # Expressions of the package's own file.
    return {policy: (eval(row["turns"], names), eval(row["calls"], names)) for policy, row in rows.items()}  # noqa: S307


def _station(number: int) -> Api:
    return Api(
        category=CATEGORY,
        tool_name=f"Station {number:04}",
        api_name="Report",
        description=f"What an instrument of station {number:04} measured on a day.",
        required_parameters=(
            Parameter(name="instrument", type="STRING", description="The instrument's name"),
            Parameter(name="day", type="ENUM", description="Day of the week", enum=DAYS),
        ),
        optional_parameters=(Parameter(name="limit", type="INTEGER", description="Values at most", default=10),),
    )


def _tool(api: Api) -> ToolSpec:
    name = api.tool_name.replace(" ", "_")
    schema = api.parameters_schema()
    return ToolSpec(name=f"{name}_{api.api_name}", description=api.description, parameters=schema, api=api.ref)
