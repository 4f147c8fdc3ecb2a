"""The checks of patience, which have patience with a slow machine themselves."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.mutants._mutant import Mutant

from trialbed import Answer, BaseAgent
from trialbed_adapter_lab import Probe, check_adapter
from trialbed_adapter_lab.harness import PassingLoop
from trialbed_adapter_lab.probes.patience import (
    slow_model,
    slow_tool_beside_quick_ones,
    tool_that_takes_too_long,
    twenty_calls_overlap,
)


class AsksLate(Mutant):
    """It asks for the first time when its clock is far on, as after imports that take long."""

    async def on_ask(self, messages: Any) -> Any:
        loop = asyncio.get_running_loop()
        if self.turn == 1 and isinstance(loop, PassingLoop):
            await asyncio.sleep(0.01)  # so that the check waits by then
            loop.pass_time(100.0)
            await asyncio.sleep(0.01)
        return await super().on_ask(messages)


class CallsOneLate(Mutant):
    """Its last call of a turn is made a while after the others, which wait for it."""

    async def on_tool(self, tool: Any, arguments: Any) -> Any:
        if arguments == {"text": "19"}:
            await asyncio.sleep(1.2)
        return await super().on_tool(tool, arguments)


class AnswersInAThread(BaseAgent):
    """It asks nothing, in a thread."""

    contract = "3"

    @classmethod
    def framework_version(cls) -> str:
        return "1"

    def answer(self, query: str) -> Answer:
        return Answer(final_answer=query)


@pytest.mark.parametrize("check", [slow_model, slow_tool_beside_quick_ones, tool_that_takes_too_long])
def test_time_that_does_not_pass_in_a_thread_is_not_tried(check: Probe) -> None:
    (found,) = check_adapter(AnswersInAThread, [check], profile="controlled").findings
    assert found.outcome == "skipped"
    assert found.message == "not tried: answer() runs in a thread, whose clock cannot be put forward"


def test_a_first_request_that_comes_late_is_waited_for() -> None:
    (found,) = check_adapter(AsksLate, [slow_model], profile="controlled").findings
    assert (found.outcome, found.message) == ("passed", "")


def test_calls_that_begin_one_after_another_may_overlap() -> None:
    (found,) = check_adapter(CallsOneLate, [twenty_calls_overlap], profile="controlled").findings
    assert (found.outcome, found.message) == ("passed", "")
