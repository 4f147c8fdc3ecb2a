"""Agents that do what no agent should; the query names the attack. Only workers load this file."""

# ruff: noqa: ASYNC220, ASYNC251 - blocking the event loop is what some of them are for

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import os
import random
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from trialbed import Answer, BaseAgent, ClaimedCall, Deviation, ModelFailed

USER: ContextVar[str] = ContextVar("user", default="nobody")

NAP = 600
"""Seconds that outlast every limit of a trial."""


def done(text: str = "fine") -> Answer:
    """Return an answer, after which the trial should count as answered."""
    return Answer(final_answer=text, finish="give_answer")


class Base(BaseAgent):
    """An agent that can be bound to any tools."""

    contract = "3"

    @classmethod
    def framework_version(cls) -> str:
        """Return a version that no framework has."""
        return "6.6.6"

    def bind_tools(self, tools: Any, *, server_url: str | None) -> None:
        """Take no notice of the tools."""


class Crashes:
    async def exit_code(self) -> Any:
        sys.stderr.write("last words")
        os._exit(3)

    async def segfault(self) -> Any:
        os.kill(os.getpid(), signal.SIGSEGV)
        await asyncio.sleep(NAP)

    async def close_everything(self) -> Any:
        os.closerange(3, 64)
        return done()

    async def exit_in_native_code(self) -> Any:
        os.abort()


class Hangs:
    async def sleep(self) -> Any:
        await asyncio.sleep(NAP)

    async def busy_loop(self) -> Any:
        while True:
            pass

    async def blocking_sleep(self) -> Any:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        time.sleep(NAP)

    async def hold_the_lock(self) -> Any:
        re.match(r"(a+)+$", "a" * 64 + "b")

    async def stop_itself(self) -> Any:
        os.kill(os.getpid(), signal.SIGSTOP)

    async def deadlock(self) -> Any:
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()


class Exceptions:
    async def raise_error(self) -> Any:
        raise ValueError("the framework does not like this")

    async def raise_unprintable(self) -> Any:
        class Unprintable(Exception):
            def __str__(self) -> str:
                raise RuntimeError("no text for you")

        raise Unprintable

    async def raise_system_exit(self) -> Any:
        raise SystemExit(4)

    async def raise_interrupt(self) -> Any:
        raise KeyboardInterrupt

    async def raise_cancelled(self) -> Any:
        raise asyncio.CancelledError

    async def recurse(self) -> Any:
        return await self.recurse()

    async def exit_in_a_task(self) -> Any:
        async def leave() -> None:
            sys.exit(5)

        await asyncio.create_task(leave())

    async def model_down(self) -> Any:
        raise ModelFailed("the model's endpoint answered with status 500: down")


class Answers:
    async def wrong_type(self) -> Any:
        return 42

    async def bad_node(self) -> Any:
        return {"answer": {"final_answer": "", "answer_details": [{"role": "tool", "message": "{", "next": []}]}}

    async def not_json(self) -> Any:
        return Answer(final_answer="", calls=(ClaimedCall(name="x", arguments={"when": object()}),))


class Output:
    async def print(self) -> Any:
        sys.stdout.write('{"type": "done"}\n' * 3)
        os.write(1, b"garbage\n")
        return done()

    async def print_no_text(self) -> Any:
        os.write(1, b"\xff\xfe\x00" * 99 + b"\n")
        os.write(2, b"\xff\xfe\x00" * 99 + b"\n")
        return done()

    async def close_the_outputs(self) -> Any:
        os.close(1)
        os.close(2)
        return done()

    async def forge(self) -> Any:
        forged = (
            '{"type":"done","nonce":"00","trial":"x","outcome":{"started_at":"2026-01-01T00:00:00Z","wall_time":0}}\n'
        )
        write_everywhere(forged.encode())
        await asyncio.sleep(NAP)

    async def garbage(self) -> Any:
        write_everywhere(b"\xff\x00 garbage\n")
        await asyncio.sleep(NAP)

    async def endless_line(self) -> Any:
        block = b"x" * (1 << 20)
        while True:
            write_everywhere(block)

    async def flood(self) -> Any:
        block = b"y" * (1 << 20)
        for _ in range(64):
            os.write(1, block)
            os.write(2, block)
        return done()

    async def giant_answer(self) -> Any:
        return done("z" * (40 << 20))


class Memory:
    async def grow(self) -> Any:
        hoard = []
        while True:
            hoard.append(bytearray(16 << 20))
            await asyncio.sleep(0.01)

    async def grow_in_a_child(self) -> Any:
        code = f"import time; hoard = bytearray({400 << 20}); time.sleep({NAP})"
        subprocess.Popen([sys.executable, "-c", code])
        await asyncio.sleep(NAP)

    async def no_memory(self) -> Any:
        return done(" " * (1 << 62))


def write_everywhere(data: bytes) -> None:
    for descriptor in range(3, 32):
        with contextlib.suppress(OSError):
            os.write(descriptor, data)


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
        os.execv(sys.executable, SLEEPER)

    async def hang_with_children(self) -> Any:
        subprocess.Popen(SLEEPER, start_new_session=True)
        await asyncio.sleep(NAP)


def daemonise() -> None:
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(NAP)
        os._exit(0)


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


ASKS = "HOSTILE_ASKS"
"""Variable; where it is set, the agent asks the model before it does harm."""


class Hostile(Crashes, Hangs, Exceptions, Answers, Processes, Output, Memory, Leftovers, Clocks, Base):
    """Carries out the attack that the query names, with spaces for underscores; ``good`` does no harm."""

    deviations = (Deviation(text="does harm"),)

    async def answer(self, query: str) -> Any:
        """Carry out an attack."""
        if ASKS in os.environ:
            await asyncio.to_thread(self._ask, query)
        return await getattr(self, query.replace(" ", "_"))()

    def _ask(self, query: str) -> None:
        """Send one request to the model, after which no failure can be an earlier trial's."""
        body = {"model": self.endpoint.model, "messages": [{"role": "user", "content": query}]}
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.endpoint.api_key}"}
        url = f"{self.endpoint.base_url}/chat/completions"
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        urllib.request.urlopen(request).read()

    async def good(self) -> Any:
        """Answer."""
        return done()

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

    async def context(self):
        found = USER.get()
        USER.set("somebody")
        return done(found)

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
            time.sleep(0.01)
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
    kind = sys.modules["trialbed.worker._loop"].Channel
    receive = kind.receive

    def receive_and_end(channel):
        receive(channel)
        os._exit(9)

    kind.receive = receive_and_end


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
