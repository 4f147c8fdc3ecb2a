"""Processes: those that an agent starts and leaves behind, its own, and its parent."""

# ruff: noqa: ASYNC220 - blocking the event loop is what some of them are for

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from hostile_base import NAP, done

SLEEPER = [sys.executable, "-c", f"import time; time.sleep({NAP})"]
BOMB = f"f() {{ [ $1 -gt 0 ] && {{ f $(($1-1)) & f $(($1-1)) & }}; exec sleep {NAP}; }}; f 4"


class Processes:
    async def fork_and_return_twice(self):
        os.fork()
        return done()

    async def fork_in_thread(self):
        await asyncio.to_thread(os.fork)
        return done()

    async def leave_a_child(self):
        subprocess.Popen(SLEEPER)
        return done()

    async def leave_a_daemon(self):
        daemonise()
        return done()

    async def bounded_fork_bomb(self):
        subprocess.Popen(["/bin/sh", "-c", BOMB])
        return done()

    async def crash_beside_a_daemon(self):
        daemonise()
        os._exit(3)

    async def leave_a_bare_daemon(self):
        bare_daemon()
        return done()

    async def crash_beside_a_bare_daemon(self):
        bare_daemon()
        os._exit(3)

    async def hang_beside_a_bare_daemon(self):
        bare_daemon()
        re.match(r"(a+)+$", "a" * 64 + "b")

    async def kill_the_parent(self):
        os.kill(os.getppid(), signal.SIGKILL)
        await asyncio.sleep(NAP)

    async def stop_the_parent(self):
        os.kill(os.getppid(), signal.SIGSTOP)
        return done()

    async def kill_the_group(self):
        os.killpg(0, signal.SIGTERM)
        await asyncio.sleep(NAP)

    async def become_another_program(self):
        os.execv(sys.executable, SLEEPER)

    async def hang_with_children(self):
        subprocess.Popen(SLEEPER, start_new_session=True)
        await asyncio.sleep(NAP)


def daemonise():
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(NAP)
        os._exit(0)


def bare_daemon():
    """Starts what has no session, environment, descriptor or parent in common with this worker."""
    note = Path(os.environ["HOSTILE_FOLDER"]) / "daemon"
    code = "import os, sys, time; open(sys.argv[1], 'w').write(str(os.getpid())); time.sleep(600)"
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            os.closerange(0, 256)
            os.execve(sys.executable, [sys.executable, "-S", "-c", code, str(note) + ".new"], {})
        os._exit(0)
    while not (note.with_name("daemon.new").exists() and note.with_name("daemon.new").read_text()):
        time.sleep(0.01)
    os.rename(str(note) + ".new", note)
