"""Tests of behaviour that is particular to this framework.

REPLACE: a test for each peculiarity of your framework. The kit has the general tests.
"""

from __future__ import annotations

import pytest

from trialbed_adapter_lab import Harness
from trialbed_scripted import ask, call

pytestmark = pytest.mark.framework("new-framework")


async def test_two_calls_of_one_turn_are_both_made(harness: Harness) -> None:
    """The model asks for two calls at once, then answers."""
    turn = ask(call("Echo_text", {"text": "one"}), call("Echo_text", {"text": "two"}))
    record = await harness.run(turn, "done")
    assert {made.arguments["text"] for made in record.calls} == {"one", "two"}
    assert record.answer is not None
    assert record.answer.final_answer == "done"
