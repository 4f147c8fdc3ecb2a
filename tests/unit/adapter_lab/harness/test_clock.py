"""The loop whose time can be let pass."""

from __future__ import annotations

import asyncio

import pytest

from trialbed_adapter_lab.harness import PassingLoop


def test_what_is_due_by_then_ends() -> None:
    async def wait() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, PassingLoop)
        waiting = asyncio.create_task(asyncio.wait_for(asyncio.Event().wait(), 600))
        await asyncio.sleep(0)
        loop.pass_time(599)
        await asyncio.sleep(0.001)
        assert not waiting.done()
        loop.pass_time(2)
        with pytest.raises(TimeoutError):
            await waiting

    with asyncio.Runner(loop_factory=PassingLoop) as runner:
        runner.run(wait())
