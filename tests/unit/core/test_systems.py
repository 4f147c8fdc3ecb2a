"""Systems that lack something of Linux: what needs it says so, or does without."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import sys

import pytest

from trialbed.errors import UsageError
from trialbed.scoring_process import __main__ as scoring_process
from trialbed_adapter_lab.fidelity.probe import _client
from trialbed_server._options import ServerOptions
from trialbed_server._workers import Workers


def test_workers_of_the_server_need_unix_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(socket, "AF_UNIX")
    with socket.socket() as listener, pytest.raises(UsageError, match="--workers needs UNIX sockets"):
        Workers(ServerOptions(workers=2), listener, lambda *_: None)


def test_a_scoring_process_works_without_limits_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)
    monkeypatch.delattr(signal, "setitimer")
    scoring_process._limit_memory()
    scoring_process._limit_work(60)


async def test_a_probe_ends_where_there_are_no_groups_of_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", "input()", stdin=asyncio.subprocess.PIPE)
    monkeypatch.delattr(os, "killpg")
    await _client._end(process)
    assert process.returncode == -signal.SIGKILL
