"""ADK's own traps."""

from __future__ import annotations

import pytest

from trialbed_adapter_lab import Harness, tool
from trialbed_scripted import call

pytestmark = pytest.mark.framework("google-adk:controlled")


async def test_a_tool_may_be_called_as_one_of_adks_own(harness: Harness) -> None:
    turn = call("transfer_to_agent", {"agent_name": "x"})
    record = await harness.run(turn, "done", tools=[tool("transfer_to_agent")])
    assert [made.arguments for made in record.calls] == [{"agent_name": "x"}]
