"""Pydantic AI's own traps."""

from __future__ import annotations

import pytest

from trialbed_adapter_lab import Harness, tool
from trialbed_scripted import ask, call

pytestmark = pytest.mark.framework("pydantic-ai:controlled")


async def test_tools_may_have_the_names_of_pydantic_ais_own(harness: Harness) -> None:
    names = ("final_result", "search_tools", "load_capability")
    turn = ask(*(call(name, {"text": name}) for name in names))
    record = await harness.run(turn, "done", tools=[tool(name) for name in names])
    assert sorted(made.tool for made in record.calls) == sorted(names)
