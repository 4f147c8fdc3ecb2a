"""Processes: those that an agent starts and leaves behind, its own, and its parent."""

# ruff: noqa: ASYNC220 - blocking the event loop is what some of them are for

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from typing import Any

from trialbed_adapter_lab.hostile.agents._base import NAP, done

SLEEPER = [sys.executable, "-c", f"import time; time.sleep({NAP})"]
BOMB = f"f() {{ [ $1 -gt 0 ] && {{ f $(($1-1)) & f $(($1-1)) & }}; exec sleep {NAP}; }}; f 4"


class Processes:
    async def fork_and_return_twice(self) -> Any:
        os.fork()
        return done()

    async def fork_in_thread(self) -> Any:
        await asyncio.to_thread(os.fork)
        return done()

    async def leave_a_child(self) -> Any:
        subprocess.Popen(SLEEPER)
        return done()

    async def leave_a_daemon(self) -> Any:
        daemonise()
        return done()

    async def bounded_fork_bomb(self) -> Any:
        subprocess.Popen(["/bin/sh", "-c", BOMB])
        return done()

    async def crash_beside_a_daemon(self) -> Any:
        daemonise()
        os._exit(3)

    async def kill_the_parent(self) -> Any:
        os.kill(os.getppid(), signal.SIGKILL)
        await asyncio.sleep(NAP)

    async def kill_the_group(self) -> Any:
        os.killpg(0, signal.SIGTERM)
        await asyncio.sleep(NAP)

    async def become_another_program(self) -> Any:
        os.execv(sys.executable, SLEEPER)  # noqa: S606 - this is the attack

    async def hang_with_children(self) -> Any:
        subprocess.Popen(SLEEPER, start_new_session=True)
        await asyncio.sleep(NAP)


def daemonise() -> None:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(NAP)
        os._exit(0)
