"""Child processes end, even if their output is not read or other processes hold their pipes."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE, Process

import pytest

from trialbed.child_processes import end_process, stop_process

WRITES_FOR_EVER = "import sys\nwhile True: sys.stdout.write('x' * 9999)"
READS = "input()"


async def started(code: str) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable, "-c", code, stdin=PIPE, stdout=PIPE, stderr=PIPE, limit=1024, start_new_session=True
    )


def open_files() -> set[int]:
    return {int(name) for name in os.listdir("/proc/self/fd")}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("code", [WRITES_FOR_EVER, READS])
async def test_a_process_ends_and_leaves_no_pipe_open(code: str) -> None:
    # The first one's watch keeps its thread.
    await end_process(await started(READS))
    before = open_files()
    process = await started(code)
    assert process.stdout is not None
    if code is WRITES_FOR_EVER:
        await process.stdout.readexactly(10)
    async with asyncio.timeout(60):
        await end_process(process)
        await end_process(process)
    assert process.returncode == -9
    await asyncio.sleep(0)
    assert open_files() == before


async def test_one_that_does_not_is_killed_after_a_while() -> None:
    process = await started(WRITES_FOR_EVER)
    async with asyncio.timeout(60):
        await stop_process(process, 0.01)
    assert process.returncode == -9
