"""The hostile agents of the adapter lab, with what only these tests can ask for; the query says what."""

import asyncio
import gc
import os
import random
import re
import signal
import sys
import threading
import time
from pathlib import Path

from trialbed_adapter_lab.hostile import agents
from trialbed_adapter_lab.hostile.agents import NAP, Base, done, write_everywhere


class Hostile(agents.Hostile):
    async def pid(self):
        return done(str(os.getpid()))

    async def wait_to_go(self):
        while not (folder() / "go").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)
        return done()

    async def environment(self):
        return done("\n".join(f"{name}={value}" for name, value in os.environ.items()))

    async def randomness(self):
        return done(repr(random.random()))

    async def folder(self):
        return done(os.getcwd())

    async def surrogate(self):
        return {"answer": {"final_answer": "half a pair: \ud800", "answer_details": []}}

    async def document(self):
        return {"answer": {"final_answer": "yes", "answer_details": []}, "called_apis": [["Weather", "now"]]}

    async def late_garbage(self):
        threading.Thread(target=write_when_told, daemon=True).start()
        return done(str(os.getpid()))

    async def answer_when_told(self):
        (folder() / "ready").touch()
        while not (folder() / "go").exists():
            time.sleep(0.01)  # noqa: ASYNC251 - its event loop is to be blocked
        return done()

    async def count_the_tasks(self):
        return done(f"{os.getpid()} {len(asyncio.all_tasks())}")

    async def end_at_the_next_trial(self):
        end_at_the_next_command()
        return done(str(os.getpid()))

    async def leave_a_bare_daemon(self):
        bare_daemon()
        return done()

    async def crash_beside_a_bare_daemon(self):
        bare_daemon()
        os._exit(3)

    async def hang_beside_a_bare_daemon(self):
        bare_daemon()
        re.match(r"(a+)+$", "a" * 64 + "b")

    async def stop_the_parent(self):
        os.kill(os.getppid(), signal.SIGSTOP)
        return done()


class Blocking(Base):
    """Answers on a thread of the worker's."""

    def answer(self, query):
        assert threading.current_thread() is not threading.main_thread()
        if query == "fork":
            os.fork()
        if query == "hang":
            time.sleep(NAP)
        if query == "exit":
            sys.exit(6)
        return done()


class BadlyClosing(Base):
    async def answer(self, query):
        if query == "raise":
            raise ValueError("first")
        return done()

    async def close(self):
        raise RuntimeError("second")


class OtherContract(Base):
    contract = "0"

    def answer(self, query):
        return done()


class Ending(Base):
    """Its worker ends as soon as it is given a trial."""

    @classmethod
    def framework_version(cls):
        end_at_the_next_command()
        return "6.6.6"

    def answer(self, query):
        return done()


class NoAgent:
    contract = "3"


def folder():
    return Path(os.environ["HOSTILE_FOLDER"])


def write_when_told():
    while not (folder() / "go").exists():
        time.sleep(0.01)
    write_everywhere(b"late\n")
    (folder() / "gone").touch()


def end_at_the_next_command():
    """Have the worker end as soon as it has received another command."""
    gc.unfreeze()  # what the worker has left out of the search for garbage is shown only then
    (channel,) = [found for found in gc.get_objects() if type(found).__qualname__ == "Channel"]
    receive = channel.receive

    def receive_and_end():
        receive()
        os._exit(9)

    channel.receive = receive_and_end


def bare_daemon():
    """Starts what has no session, environment, descriptor or parent in common with this worker."""
    note = folder() / "daemon"
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
