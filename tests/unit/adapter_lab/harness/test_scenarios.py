from __future__ import annotations

import json

from jsonschema_rs import Draft202012Validator

from trialbed import hard_schemas
from trialbed_adapter_lab.harness import hard_scenario, stations


def test_calls_are_spread_from_the_first_tool_to_the_last() -> None:
    scenario = stations(120, 3)
    assert [call.name for call in scenario.script] == [scenario.tools[index].name for index in (0, 59, 119)]
    assert {api.ref for api in scenario.apis} == {scenario.tools[index].api for index in (0, 59, 119)}


def test_calls_are_valid() -> None:
    scenario = stations(5, 5, "mark")
    schemas = {tool.name: tool.parameters for tool in scenario.tools}
    for call in scenario.script:
        assert Draft202012Validator(schemas[call.name]).is_valid(call.arguments)


def test_the_world_is_the_same_each_time_but_for_the_mark() -> None:
    assert stations(9, 3) == stations(9, 3)
    assert stations(9, 3, "a").script != stations(9, 3, "b").script


def test_a_thousand_tools_fit_into_what_the_wire_log_keeps_of_a_body() -> None:
    functions = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in stations(1000, 2).tools
    ]
    assert len(json.dumps(functions)) < 0.6 * 2**20  # the wire log keeps 1 MiB of a body


def test_a_world_offers_and_calls_each() -> None:
    scenario = hard_scenario(hard_schemas())
    assert [tool.name for tool in scenario.tools] == [schema.name for schema in hard_schemas()]
    assert [call.arguments for call in scenario.script] == [schema.arguments for schema in hard_schemas()]
    assert {api.ref for api in scenario.apis} == {tool.api for tool in scenario.tools}
    assert len({tool.api for tool in scenario.tools}) == len(scenario.tools)
