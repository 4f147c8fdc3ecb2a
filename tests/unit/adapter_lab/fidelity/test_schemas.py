"""What is found of the hard schemas."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from support.cases import for_each
from support.fidelity import api_call, definition, model_call, observed, request

from trialbed import HardSchema, hard_schemas
from trialbed.records import Failure
from trialbed_adapter_lab.errors import NotMeasured
from trialbed_adapter_lab.fidelity.reading import sent_tools
from trialbed_adapter_lab.fidelity.traffic import MOST_TRIALS, SchemaFinding, ToolSchemas, findings_of, measure_schemas
from trialbed_adapter_lab.harness import Observed, Scenario, WorkerHarness, hard_scenario, stations

SCHEMAS = hard_schemas()[:6]
ONE = next(schema for schema in hard_schemas() if schema.name == "ref_with_siblings")


def finding(schema: HardSchema = ONE, **fields: Any) -> SchemaFinding:
    """What is found of one schema that was sent with other fields."""
    tools = sent_tools({"tools": [definition(schema.tool, **fields)]})
    (found,) = findings_of([schema], tools, observed())
    return found


def test_what_was_sent_as_given_has_no_effects() -> None:
    tools = [definition(schema.tool) for schema in hard_schemas()]
    found = findings_of(hard_schemas(), sent_tools({"tools": tools}), observed())
    assert [one.effects for one in found] == [()] * len(hard_schemas())
    assert [one.differences for one in found] == [()] * len(hard_schemas())


@for_each(
    ("change", "effects", "pointer"),
    [
        (lambda p: p.pop("$defs"), ("lost",), "/parameters/$defs"),
        (lambda p: p.update(additionalProperties=False), ("added",), "/parameters/additionalProperties"),
        (lambda p: p.update(required=["speed"]), ("added",), "/parameters/required/0"),
        (
            lambda p: p["properties"]["speed"].update(default="fast"),
            ("changed",),
            "/parameters/properties/speed/default",
        ),
        (lambda p: p.update(type=p.pop("type")), ("reordered",), "/parameters"),
    ],
)
def test_each_change_of_a_schema_has_its_effect(change: Any, effects: tuple[str, ...], pointer: str) -> None:
    import copy

    parameters = copy.deepcopy(ONE.parameters)
    change(parameters)
    found = finding(parameters=parameters)
    assert found.effects == effects
    assert [difference.pointer for difference in found.differences] == [pointer]


def test_a_description_belongs_to_what_is_compared() -> None:
    found = finding(description="Something else")
    assert found.effects == ("changed",)
    assert found.differences[0].pointer == "/description"


def test_what_stands_beside_the_schema_is_no_effect_on_it() -> None:
    found = finding(strict=False)
    assert found.effects == ()
    assert found.beside == {"strict": False}


def test_a_rewritten_name_is_found_by_the_description() -> None:
    found = finding(name="another_name")
    assert found.effects == ("renamed",)
    assert found.sent_name == "another_name"


def test_a_tool_that_was_not_sent_is_missing() -> None:
    found = findings_of(SCHEMAS, sent_tools({"tools": [definition(SCHEMAS[0].tool)]}), observed())
    assert [one.effects for one in found] == [(), *[("missing",)] * 5]


def test_parameters_that_were_left_out_are_lost() -> None:
    tool = definition(ONE.tool)
    del tool["function"]["parameters"]
    (found,) = findings_of([ONE], sent_tools({"tools": [tool]}), observed())
    assert [difference.pointer for difference in found.differences] == ["/parameters"]


def calls(*arguments: Any, failure: Failure | None = None) -> Observed:
    """A trial in which the model called every schema's tool and these calls arrived."""
    names = [schema.name for schema in SCHEMAS]
    made = [api_call(schema.api.ref, value) for schema, value in zip(SCHEMAS, arguments, strict=False)]
    return observed(model_call(request(), *names), apis=made, scenario=hard_scenario(SCHEMAS), failure=failure)


def test_calls_are_compared_with_what_the_model_sent() -> None:
    arguments = [schema.arguments for schema in SCHEMAS[:4]]
    arguments[1] = {**arguments[1], "invented": None}
    tools = sent_tools({"tools": [definition(schema.tool) for schema in SCHEMAS]})
    found = findings_of(SCHEMAS, tools, calls(*arguments))
    assert [one.call for one in found] == ["as sent", "changed", "as sent", "as sent", "not made", "not made"]
    assert [(d.kind, d.pointer) for d in found[1].call_differences] == [("added", "/invented")]


def test_a_call_that_the_model_did_not_make_is_not_told() -> None:
    tools = sent_tools({"tools": [definition(ONE.tool)]})
    (found,) = findings_of([ONE], tools, observed(model_call(request())))
    assert found.call == "not told"


def test_a_failure_after_the_request_is_noted() -> None:
    tools = sent_tools({"tools": [definition(ONE.tool)]})
    seen = observed(model_call(request()), failure=Failure(kind="agent", message="it broke"))
    (found,) = findings_of([ONE], tools, seen)
    assert found.reason == "agent: it broke"


class Refusing:
    """A harness whose framework fails with these tools."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.trials = 0

    async def run(self, scenario: Scenario) -> Observed:
        self.trials += 1
        tools = scenario.tools
        if any(tool.name in self.names for tool in tools):
            return observed(failure=Failure(kind="agent", message="no such tools"))
        return observed(model_call(request(tools=[definition(tool) for tool in tools])))


def measured(harness: Refusing) -> ToolSchemas:
    return asyncio.run(measure_schemas(cast("WorkerHarness", harness)))


@for_each("place", [0, 40, -1])
def test_a_tool_that_a_framework_fails_with_is_found(place: int) -> None:
    name = hard_schemas()[place].name
    found = measured(Refusing(name))
    assert {one.name: one.effects for one in found.findings if one.effects} == {name: ("refused",)}
    assert len(found.findings) == len(hard_schemas())
    assert found.trials <= 15


def test_the_search_for_tools_that_a_framework_fails_with_is_bounded() -> None:
    harness = Refusing(*(schema.name for schema in hard_schemas()))
    with pytest.raises(NotMeasured, match="150 trials were not enough"):
        measured(harness)
    assert MOST_TRIALS == 150
    assert 150 < harness.trials <= 153, "with the plainest tool, and the two of the last pair"


def test_no_search_is_made_where_the_plainest_tool_fails_too() -> None:
    names = [schema.name for schema in hard_schemas()]
    harness = Refusing(*names, *(tool.name for tool in stations(1, 1).tools))
    with pytest.raises(NotMeasured, match="agent: no such tools"):
        measured(harness)
    assert harness.trials == 2
