"""What is particular to this framework.

REPLACE: a test for each trap of your framework. The kit has the general ones.
"""

from __future__ import annotations

import pytest

from trialbed_adapter_kit import Stage, asks, call

pytestmark = pytest.mark.framework("new-framework")


async def test_two_calls_of_one_turn_are_both_made(stage: Stage) -> None:
    """The model asks for two calls at once, then answers."""
    turn = asks(call("Echo_text", {"text": "one"}), call("Echo_text", {"text": "two"}))
    play = await stage.play(turn, "done")
    assert {made.arguments["text"] for made in play.calls} == {"one", "two"}
    assert play.answer is not None
    assert play.answer.final_answer == "done"
