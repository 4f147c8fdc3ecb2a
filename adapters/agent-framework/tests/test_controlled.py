"""The Microsoft Agent Framework's own traps."""

from __future__ import annotations

import pytest

from trialbed_adapter_lab import Harness
from trialbed_scripted import call

pytestmark = pytest.mark.framework("agent-framework:controlled")


async def test_a_parameter_may_be_called_self(harness: Harness) -> None:
    record = await harness.run(call("Echo_text", {"self": "x"}), "done")
    assert [made.arguments for made in record.calls] == [{"self": "x"}]
