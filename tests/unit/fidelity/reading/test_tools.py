from __future__ import annotations

import pytest
from support.fidelity import definition

from trialbed_fidelity.harness._corpus import HardSchema
from trialbed_fidelity.reading._bodies import sent_tools
from trialbed_fidelity.reading._matching import matched
from trialbed_fidelity.reading._tools import order_of, worst


@pytest.mark.parametrize(
    ("sent", "order"),
    [("bAc", "kept"), ("Abc", "by name"), ("cAb", "changed"), ("bc", "kept"), ("Ab", "by name"), ("", "kept")],
)
def test_the_order_of_tools_is_told(sent: str, order: str) -> None:
    given = [HardSchema(name=n, stresses="", description=f"is {n}", parameters={}, arguments={}).tool for n in "bAc"]
    by_name = {tool.name: tool for tool in given}
    tools = sent_tools({"tools": [definition(by_name[name]) for name in sent]})
    assert order_of(["b", "A", "c"], matched(given, tools), tools) == order


def test_the_worst_order_counts() -> None:
    assert worst(["kept", "by name", "kept"]) == "by name"
    assert worst(["by name", "changed"]) == "changed"
    assert worst([]) == "kept"
