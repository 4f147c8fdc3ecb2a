"""The probes of the traffic between model and tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from support.mutants._mutant import made_of, walk, without

from trialbed import BaseAgent
from trialbed_adapter_lab import PROBES, check_adapter
from trialbed_plugins.frameworks.reference import ReferenceAgent

SCHEMAS, BY_TOOL, PROMPT, REQUESTS = (
    *("hard_schemas_are_offered", "hard_schemas_by_tool"),
    *("prompt_beside_the_reference", "requests_of_a_trial"),
)

FAITHFUL = {
    "tools lost": "none",
    "tools renamed": "none",
    "tools added": "none",
    "order of the tools": "kept",
    "schemas changed": "none",
    "schemas sent as given": "100 of 100",
    "added next to the schema": "none",
    "calls as sent": "100 of 100",
}


def seam(where: str) -> Callable[[Callable[..., Any]], type[BaseAgent]]:
    return lambda harm: made_of(harm, where)


@seam("schema")
def closes_schemas(_: Any, schema: dict[str, Any]) -> dict[str, Any]:
    return {**walk(schema, without("default")), "additionalProperties": False}


@seam("schema")
def fails_with_references(_: Any, schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in str(schema):
        raise ValueError("no references")
    return schema


@seam("definitions")
def offers_a_tool_of_its_own(_: Any, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    own = {"name": "think", "description": "Thinks.", "parameters": {"type": "object"}, "strict": True}
    tools[0]["function"]["strict"] = False
    return [*reversed(tools), {"type": "function", "function": own}]


@seam("arguments")
def loses_nulls(_: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


@seam("request")
def adds_to_the_prompt(_: Any, request: dict[str, Any]) -> dict[str, Any]:
    system, *rest = request["messages"]
    added = {"role": "user", "content": "Think first."}
    return {**request, "messages": [{**system, "content": f"You are an expert. {system['content']}"}, added, *rest[:3]]}


SEEN: list[tuple[type[BaseAgent], str, dict[str, str]]] = [
    (ReferenceAgent, SCHEMAS, FAITHFUL),
    (closes_schemas, SCHEMAS, {"fields added": "96", "fields lost": "11", "calls made impossible": "2"}),
    (fails_with_references, SCHEMAS, {"tools lost": "10", "framework fails with it": "10", "tool not sent": "none"}),
    (
        offers_a_tool_of_its_own,
        SCHEMAS,
        {
            "tools added": "1",
            "order of the tools": "changed",
            "schemas changed": "none",
            "added next to the schema": "strict: false",
        },
    ),
    (loses_nulls, SCHEMAS, {"calls as sent": "98 of 100", "calls, arguments changed": "2"}),
    (
        ReferenceAgent,
        PROMPT,
        {"messages changed": "none", "requests with other tools": "none", "dialect": "chat_completions"},
    ),
    (adds_to_the_prompt, PROMPT, {"messages changed at first": "system, user"}),
]


def seen(agent: type[BaseAgent], *names: str) -> list[Any]:
    report = check_adapter(agent, [probe for probe in PROBES if probe.name in names], level="info")
    return [finding.seen for finding in report.findings]


@pytest.mark.parametrize(("agent", "probe", "figures"), SEEN)
def test_figures_name_the_changes(agent: type[BaseAgent], probe: str, figures: dict[str, str]) -> None:
    (found,) = seen(agent, probe)
    assert {name: found[name] for name in figures} == figures


def test_requests_have_no_ids() -> None:
    one, other = (seen(ReferenceAgent, REQUESTS) for _ in range(2))
    assert one == other
    first, *_, last = one[0]
    assert (len(one[0]), len(first["tools"])) == (4, 4)
    assert [message["role"] for message in last["conversation"]][:3] == ["system", "user", "assistant"]
    assert last["conversation"][2]["tool_calls"][0]["id"] == "call-1"
