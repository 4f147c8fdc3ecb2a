"""The ends of live tools: what follows on calls without an answer, and that no server is left."""

from __future__ import annotations

import asyncio
import gc
import os
import shlex
import sys
from collections import deque
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest
from support.live_tools import ADD, FAIL, LIST, SERVER, Trial, written
from support.processes import is_alive
from support.servers import until

from trialbed.wire.redaction import Redaction
from trialbed.worker import SUPERVISED
from trialbed_tools._programs import open_program
from trialbed_tools.forms import ServerForm
from trialbed_tools.live import CallAnswer, KeptAnswers, LiveTools, ToolsUnreachable, TrialCalls
from trialbed_tools.servers import list_server, server_connection


async def test_a_trial_whose_server_fails_has_no_more_answers(tmp_path: Path) -> None:
    trial = Trial(written(tmp_path, "crashes"))
    assert await trial.call(ADD, item="lamp") == "1 items"
    with pytest.raises(ToolsUnreachable, match="the server has ended"):
        await trial.call(FAIL)
    # A new server would say that the cart is empty.
    with pytest.raises(ToolsUnreachable, match="an earlier call got no answer"):
        await trial.call(LIST)
    await trial.end()
    assert len((tmp_path / "shop.answers.jsonl").read_text(encoding="utf-8").splitlines()) == 1


class Slow:
    """Does not answer the first call."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.calls = 0

    async def call(self, name: str, arguments: dict[str, Any]) -> CallAnswer:
        self.calls += 1
        self.reached.set()
        if self.calls == 1:
            await asyncio.Event().wait()
        return CallAnswer()

    async def close(self) -> None:
        """Nothing is held."""


async def test_a_call_that_is_given_up_leaves_the_tools_in_an_unknown_state(tmp_path: Path) -> None:
    slow = Slow()
    kept = KeptAnswers(tmp_path / "shop.answers.jsonl", Redaction(()))
    calls = TrialCalls(LiveTools(kept, lambda: slow, "shop", has_state=True))
    first = asyncio.create_task(calls.call("add", {}))
    await slow.reached.wait()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    with pytest.raises(ToolsUnreachable, match="an earlier call got no answer"):
        await calls.call("list", {})
    assert slow.calls == 1


def family(folder: Path) -> list[psutil.Process]:
    """The server, and its child in a session of its own."""
    processes = [psutil.Process(int(pid)) for pid in (folder / "started").read_text().split()]
    assert len(processes) == 2
    return processes


async def until_ended(processes: list[psutil.Process]) -> None:
    await until(lambda: not any(map(is_alive, processes)))


async def test_a_server_that_does_not_end_is_ended_with_its_children(tmp_path: Path) -> None:
    trial = Trial(written(tmp_path, "stays", environment={"PLACE": "${TRIAL_FOLDER}"}))
    place = (await trial.call("variable", name="PLACE"))["value"]
    processes = family(tmp_path)
    ending = asyncio.create_task(trial.end())
    await asyncio.sleep(0)
    ending.cancel()
    with pytest.raises(asyncio.CancelledError):
        await ending
    await until_ended(processes)
    await until(lambda: not os.path.lexists(place))


async def test_a_server_can_be_ended_without_its_event_loop(tmp_path: Path) -> None:
    trial = Trial(written(tmp_path, "stays"))
    await trial.call(LIST)
    processes = family(tmp_path)

    async def elsewhere() -> None:
        with pytest.raises(ToolsUnreachable, match="an earlier call got no answer"):
            await trial.call(ADD, item="lamp")
        await trial.end()

    await asyncio.to_thread(asyncio.run, elsewhere())
    await until_ended(processes)
    # Its loop lets go of the pipes.
    await until(lambda: asyncio.all_tasks() == {asyncio.current_task()})


async def test_a_shared_server_is_replaced_with_its_event_loop(tmp_path: Path) -> None:
    trial = Trial(written(tmp_path, state=False))
    process = psutil.Process((await trial.call(LIST))["process"])

    async def elsewhere() -> None:
        assert await trial.call(ADD, item="lamp") == "1 items"
        await trial.end_run()

    await asyncio.to_thread(asyncio.run, elsewhere())
    await until_ended([process])
    await until(lambda: asyncio.all_tasks() == {asyncio.current_task()})


async def test_a_server_whose_end_is_cut_short_leaves_no_pipe(tmp_path: Path) -> None:
    form = ServerForm(command=f"{sys.executable} -I {SERVER} stays")
    begun, resources = asyncio.Event(), ExitStack()

    async def serve() -> None:
        async with open_program(form, tmp_path, resources, deque()):
            begun.set()
            await asyncio.Event().wait()

    serving = asyncio.create_task(serve())
    await begun.wait()
    for _ in range(2):
        serving.cancel()
        await asyncio.sleep(0)
    with pytest.raises(asyncio.CancelledError):
        await serving
    resources.close()
    gc.collect()  # warns of what is open


WRITES_FOR_EVER = "import sys\nwhile True: sys.stdout.write(chr(120) * 9999 + chr(10))"


async def test_a_server_that_writes_without_end_is_ended(tmp_path: Path) -> None:
    command = shlex.join([sys.executable, "-c", WRITES_FOR_EVER])
    connection = server_connection(ServerForm(command=command), tmp_path, {}, Redaction(()))
    async with asyncio.timeout(60):
        with pytest.raises(ToolsUnreachable, match="sends 10,000 lines and no answer"):
            await connection.list_tools()


DAEMON = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        print(os.getpid(), file=open("daemon", "w"), flush=True)
        os.execve(sys.executable, [sys.executable, "-c", "import time; time.sleep(600)"], {})
    os._exit(0)
while not os.path.exists("daemon"): time.sleep(0.01)
"""


@pytest.mark.skipif(not SUPERVISED, reason="only Linux gives daemons back to a supervisor")
def test_a_daemon_that_a_server_leaves_is_ended(tmp_path: Path) -> None:
    (tmp_path / "daemon.py").write_text(DAEMON, encoding="utf-8")
    command = f"sh -c '{sys.executable} daemon.py; exec {sys.executable} -I {SERVER}'"
    list_server(ServerForm(command=command), tmp_path, {}, Redaction(()))
    assert not psutil.pid_exists(int((tmp_path / "daemon").read_text()))
