"""Workers in the sandbox with hostile agents: a hang says where it is, and the engine is out of reach."""

from __future__ import annotations

import pytest

from trialbed.errors import SandboxUnavailable
from trialbed_plugins.executors.local import LocalExecutor
from trialbed_plugins.executors.sandbox import check_sandbox

pytestmark = [pytest.mark.slow(20), pytest.mark.usefixtures("hostile_distribution")]


@pytest.fixture
def executor() -> LocalExecutor:
    """An executor whose workers are in the sandbox; its server is never asked."""
    try:
        check_sandbox()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    executor = LocalExecutor(memory_limit=300 << 20)
    executor.hidden = ()
    executor.connect("http://127.0.0.1:65535")
    return executor


async def test_a_worker_that_hangs_says_where(executor, make_spec):
    async with executor:
        outcome = await executor.execute(make_spec("busy loop", timeout=2.0))
    assert outcome.failure is not None
    assert "busy_loop" in outcome.failure.detail


async def test_the_engines_processes_and_folders_are_out_of_reach(executor, make_spec):
    async with executor:
        removed = await executor.execute(make_spec("remove folder"))
        killed = await executor.execute(make_spec("kill the parent", timeout=2.0))
        following = await executor.execute(make_spec("good"))
    assert removed.failure is not None
    assert removed.failure.kind == "agent"
    assert killed.failure is not None
    assert killed.failure.kind in ("agent", "crash")
    assert following.answer is not None, following.failure
