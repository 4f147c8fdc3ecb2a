from __future__ import annotations

from support.cases import for_each
from support.fidelity import definition

from trialbed import HardSchema
from trialbed.records import ToolSpec
from trialbed_adapter_lab.fidelity.reading import match_tools, order_of, sent_tools
from trialbed_adapter_lab.harness import stations

TOOLS = stations(5, 1).tools


def names(*sent: dict[str, object], given: tuple[ToolSpec, ...] = TOOLS) -> dict[str, str]:
    return {name: tool.name for name, tool in match_tools(given, sent_tools({"tools": list(sent)})).items()}


def test_names_count_first() -> None:
    swapped = [definition(TOOLS[0], description=TOOLS[1].description), definition(TOOLS[1], description="other")]
    assert names(*swapped) == {TOOLS[0].name: TOOLS[0].name, TOOLS[1].name: TOOLS[1].name}


def test_then_descriptions_do_even_if_something_was_put_around_them() -> None:
    sent = [
        definition(TOOLS[2], name="x"),
        definition(TOOLS[3], name="y", description=f"Tool: {TOOLS[3].description}!"),
    ]
    assert names(*sent) == {TOOLS[2].name: "x", TOOLS[3].name: "y"}


def test_then_names_but_for_case_and_separators() -> None:
    sent = [definition(TOOLS[4], name=tool.name.lower().replace("_", "-"), description="?") for tool in TOOLS]
    assert names(*sent) == {tool.name: tool.name.lower().replace("_", "-") for tool in TOOLS}


def test_a_tool_of_the_framework_is_nobodys() -> None:
    own = {"type": "function", "function": {"name": "final_answer", "description": "Ends the run", "parameters": {}}}
    assert names(own) == {}
    assert names(own, definition(TOOLS[0])) == {TOOLS[0].name: TOOLS[0].name}


def test_no_tool_is_matched_twice() -> None:
    twins = [definition(TOOLS[0]), definition(TOOLS[0])]
    assert names(*twins, given=TOOLS[:1]) == {TOOLS[0].name: TOOLS[0].name}
    assert names(*twins, given=TOOLS[:2]) == {TOOLS[0].name: TOOLS[0].name}


@for_each(
    ("sent", "order"),
    [("bAc", "kept"), ("Abc", "by name"), ("cAb", "changed"), ("bc", "kept"), ("Ab", "by name"), ("", "kept")],
)
def test_the_order_of_tools_is_told(sent: str, order: str) -> None:
    given = [HardSchema(name=n, stresses="", description=f"is {n}", parameters={}, arguments={}).tool for n in "bAc"]
    by_name = {tool.name: tool for tool in given}
    tools = sent_tools({"tools": [definition(by_name[name]) for name in sent]})
    assert order_of(["b", "A", "c"], match_tools(given, tools), tools) == order
