"""What an agent leaves behind in its worker, for the next trial to find."""

# ruff: noqa: ASYNC251 - blocking the event loop is what some of them are for

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

from hostile_base import NAP, done, end_at_the_next_command

keep = []


class Leftovers:
    async def leak_a_task(self):
        keep.append(asyncio.get_running_loop().create_task(asyncio.sleep(NAP)))
        return done(str(os.getpid()))

    async def leak_a_stubborn_task(self):
        async def stubborn():
            while True:
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(NAP)

        keep.append(asyncio.get_running_loop().create_task(stubborn()))
        await asyncio.sleep(0)
        return done(str(os.getpid()))

    async def leak_descriptors(self):
        keep.extend(socket.socket() for _ in range(150))
        return done(str(os.getpid()))

    async def leak_threads(self):
        for _ in range(100):
            threading.Thread(target=time.sleep, args=(NAP,), daemon=True).start()
        return done(str(os.getpid()))

    async def count_the_tasks(self):
        return done(f"{os.getpid()} {len(asyncio.all_tasks())}")

    async def threads_that_never_end(self):
        threading.Thread(target=time.sleep, args=(NAP,)).start()
        return done()

    async def exit_in_a_thread(self):
        thread = threading.Thread(target=sys.exit)
        thread.start()
        thread.join()
        return done()

    async def end_at_the_next_trial(self):
        end_at_the_next_command()
        return done(str(os.getpid()))

    async def hang_at_exit(self):
        atexit.register(time.sleep, NAP)
        return done()

    async def replace_asyncio(self):
        asyncio.sleep = asyncio.wait = asyncio.wait_for = asyncio.to_thread = None
        return done()

    async def remove_all_folders(self):
        shutil.rmtree(Path.cwd().parent, ignore_errors=True)
        return done()

    async def lower_the_limits(self):
        most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")), most))
        return done(str(os.getpid()))

    async def remove_modules(self):
        pid = str(os.getpid())
        sys.modules.clear()
        return done(pid)

    async def replace_functions(self):
        json.dumps = json.loads = lambda *arguments, **named: None
        return done(str(os.getpid()))

    async def change_folder(self):
        os.chdir("/")
        return done(str(os.getpid()))

    async def remove_folder(self):
        # Where it is gone already, another agent removed all folders at the same time.
        with contextlib.suppress(FileNotFoundError):
            os.rmdir(os.getcwd())
        return done(str(os.getpid()))


class Clocks:
    async def answer_when_told(self):
        folder = Path(os.environ["HOSTILE_FOLDER"])
        (folder / "ready").touch()
        while not (folder / "go").exists():
            time.sleep(0.01)
        return done()

    async def change_the_clocks(self):
        time.sleep(0.5)
        for name in ("perf_counter", "monotonic", "time"):
            setattr(time, name, lambda: 0.0)
        return done(str(os.getpid()))
