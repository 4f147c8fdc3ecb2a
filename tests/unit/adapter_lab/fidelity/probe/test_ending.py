"""The end of a probe's process on systems without groups of processes."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import pytest

from trialbed_adapter_lab.fidelity.probe import _client


async def test_its_process_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=asyncio.subprocess.PIPE)
    monkeypatch.delattr(os, "killpg")
    await _client._end(process)
    assert process.returncode == -signal.SIGKILL
