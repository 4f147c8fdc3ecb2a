"""Agents that leave things behind in their worker, for the next trial to find."""

# ruff: noqa: ASYNC251 - blocking the event loop is what some of them are for

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import resource
import shutil
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from trialbed_adapter_lab.hostile.agents._base import NAP, done

keep: list[object] = []
"""Objects that are to outlive their trial."""


class Leftovers:
    async def leak_a_task(self) -> Any:
        keep.append(asyncio.get_running_loop().create_task(asyncio.sleep(NAP)))
        return done(str(os.getpid()))

    async def leak_a_stubborn_task(self) -> Any:
        async def stubborn() -> None:
            while True:
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(NAP)

        keep.append(asyncio.get_running_loop().create_task(stubborn()))
        await asyncio.sleep(0)
        return done(str(os.getpid()))

    async def leak_descriptors(self) -> Any:
        keep.extend(socket.socket() for _ in range(150))
        return done(str(os.getpid()))

    async def leak_threads(self) -> Any:
        for _ in range(100):
            threading.Thread(target=time.sleep, args=(NAP,), daemon=True).start()
        return done(str(os.getpid()))

    async def threads_that_never_end(self) -> Any:
        threading.Thread(target=time.sleep, args=(NAP,)).start()
        return done()

    async def exit_in_a_thread(self) -> Any:
        thread = threading.Thread(target=sys.exit)
        thread.start()
        thread.join()
        return done()

    async def hang_at_exit(self) -> Any:
        atexit.register(time.sleep, NAP)
        return done()

    async def replace_asyncio(self) -> Any:
        for name in ("sleep", "wait", "wait_for", "to_thread"):
            setattr(asyncio, name, None)
        return done()

    async def remove_all_folders(self) -> Any:
        shutil.rmtree(Path.cwd().parent, ignore_errors=True)
        return done()

    async def lower_the_limits(self) -> Any:
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")), most))
        return done(str(os.getpid()))

    async def remove_modules(self) -> Any:
        pid = str(os.getpid())
        sys.modules.clear()
        return done(pid)

    async def replace_functions(self) -> Any:
        for name in ("dumps", "loads"):
            setattr(json, name, id)
        return done(str(os.getpid()))

    async def change_folder(self) -> Any:
        os.chdir("/")
        return done(str(os.getpid()))

    async def remove_folder(self) -> Any:
        # Where it is gone already, another agent removed all folders at the same time.
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(os.getcwd())
        return done(str(os.getpid()))


class Clocks:
    async def change_the_clocks(self) -> Any:
        time.sleep(0.5)
        for name in ("perf_counter", "monotonic", "time"):
            setattr(time, name, lambda: 0.0)
        return done(str(os.getpid()))
