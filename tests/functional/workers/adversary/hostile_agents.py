"""Agents that do what no agent should; the query says what."""

# ruff: noqa: ASYNC220, ASYNC251 - blocking the event loop is what some of them are for

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
from pathlib import Path

from trialbed import Answer, BaseAgent, ClaimedCall, Deviation, ModelFailed

NAP = 600
SLEEPER = [sys.executable, "-c", f"import time; time.sleep({NAP})"]

BOMB = f"f() {{ [ $1 -gt 0 ] && {{ f $(($1-1)) & f $(($1-1)) & }}; exec sleep {NAP}; }}; f 4"


def done(text="fine"):
    return Answer(final_answer=text, finish="give_answer")


class Base(BaseAgent):
    contract = "1"

    @classmethod
    def framework_version(cls):
        return "6.6.6"

    def bind_tools(self, tools, *, server_url):
        self.tools = {tool.name: tool for tool in tools}


class Hostile(Base):
    """Each method is a query."""

    capabilities = (Deviation(text="does harm"),)

    async def answer(self, query):
        if "HOSTILE_ASKS" in os.environ:
            self.ask(query)
        return await getattr(self, query.replace(" ", "_"))()

    def ask(self, query):
        """One request to the model, after which no failure can be an earlier trial's."""
        body = {"model": self.endpoint.model, "messages": [{"role": "user", "content": query}]}
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {self.endpoint.api_key}"}
        url = f"{self.endpoint.base_url}/chat/completions"
        urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).read()

    async def good(self):
        return done()

    async def pid(self):
        return done(str(os.getpid()))

    async def wait_to_go(self):
        while not (Path(os.environ["HOSTILE_FOLDER"]) / "go").exists():  # noqa: ASYNC110 - another process makes it
            await asyncio.sleep(0.01)
        return done()

    async def environment(self):
        return done("\n".join(f"{name}={value}" for name, value in os.environ.items()))

    async def randomness(self):
        return done(repr(random.random()))

    async def folder(self):
        return done(os.getcwd())

    # -- crashes

    async def exit_code(self):
        sys.stderr.write("last words")
        os._exit(3)

    async def segfault(self):
        os.kill(os.getpid(), signal.SIGSEGV)
        await asyncio.sleep(NAP)

    async def close_everything(self):
        os.closerange(3, 64)
        return done()

    async def exit_in_native_code(self):
        os.abort()

    # -- hangs

    async def sleep(self):
        await asyncio.sleep(NAP)

    async def busy_loop(self):
        while True:
            pass

    async def blocking_sleep(self):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        time.sleep(NAP)

    async def hold_the_lock(self):
        re.match(r"(a+)+$", "a" * 64 + "b")

    async def stop_itself(self):
        os.kill(os.getpid(), signal.SIGSTOP)

    async def deadlock(self):
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()

    async def hang_with_children(self):
        subprocess.Popen(SLEEPER, start_new_session=True)
        await asyncio.sleep(NAP)

    # -- clocks

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

    # -- processes

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

    # -- output

    async def print(self):
        sys.stdout.write('{"type": "done"}\n' * 3)
        os.write(1, b"garbage\n")
        return done()

    async def print_no_text(self):
        os.write(1, b"\xff\xfe\x00" * 99 + b"\n")
        os.write(2, b"\xff\xfe\x00" * 99 + b"\n")
        return done()

    async def close_the_outputs(self):
        os.close(1)
        os.close(2)
        return done()

    async def forge(self):
        forged = (
            '{"type":"done","nonce":"00","trial":"x","outcome":{"started_at":"2026-01-01T00:00:00Z","wall_time":0}}\n'
        )
        write_everywhere(forged.encode())
        await asyncio.sleep(NAP)

    async def garbage(self):
        write_everywhere(b"\xff\x00 garbage\n")
        await asyncio.sleep(NAP)

    async def endless_line(self):
        block = b"x" * (1 << 20)
        while True:
            write_everywhere(block)

    async def flood(self):
        block = b"y" * (1 << 20)
        for _ in range(512):
            os.write(1, block)
            os.write(2, block)
        return done()

    async def giant_answer(self):
        return done("z" * (40 << 20))

    # -- memory

    async def grow(self):
        hoard = []
        while True:
            hoard.append(bytearray(16 << 20))
            await asyncio.sleep(0.01)

    async def grow_in_a_child(self):
        code = f"import time; hoard = bytearray({400 << 20}); time.sleep({NAP})"
        subprocess.Popen([sys.executable, "-c", code])
        await asyncio.sleep(NAP)

    async def no_memory(self):
        return done(bytes(1 << 62))

    # -- exceptions

    async def raise_error(self):
        raise ValueError("the framework does not like this")

    async def raise_unprintable(self):
        class Unprintable(Exception):
            def __str__(self):
                raise RuntimeError("no text for you")

        raise Unprintable

    async def raise_system_exit(self):
        raise SystemExit(4)

    async def raise_interrupt(self):
        raise KeyboardInterrupt

    async def raise_cancelled(self):
        raise asyncio.CancelledError

    async def recurse(self):
        return await self.recurse()

    async def exit_in_a_task(self):
        async def leave():
            sys.exit(5)

        await asyncio.create_task(leave())

    async def model_down(self):
        raise ModelFailed("the model's endpoint answered with status 500: down")

    # -- answers

    async def wrong_type(self):
        return 42

    async def bad_node(self):
        return {"answer": {"final_answer": "", "answer_details": [{"role": "tool", "message": "{", "next": []}]}}

    async def not_json(self):
        return Answer(final_answer="", calls=(ClaimedCall(name="x", arguments={"when": object()}),))

    async def surrogate(self):
        return {"answer": {"final_answer": "half a pair: \ud800", "answer_details": []}}

    async def document(self):
        return {"answer": {"final_answer": "yes", "answer_details": []}, "called_apis": [["Weather", "now"]]}

    # -- what is left behind

    async def leak_a_task(self):
        self.leaked = asyncio.get_running_loop().create_task(asyncio.sleep(NAP))
        return done()

    async def leak_a_stubborn_task(self):
        async def stubborn():
            while True:
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(NAP)

        keep.append(asyncio.get_running_loop().create_task(stubborn()))
        await asyncio.sleep(0)
        return done()

    async def leak_descriptors(self):
        keep.extend(socket.socket() for _ in range(150))
        return done(str(os.getpid()))

    async def leak_threads(self):
        for _ in range(100):
            threading.Thread(target=time.sleep, args=(NAP,), daemon=True).start()
        return done(str(os.getpid()))

    async def threads_that_never_end(self):
        threading.Thread(target=time.sleep, args=(NAP,)).start()
        return done()

    async def exit_in_a_thread(self):
        thread = threading.Thread(target=sys.exit)
        thread.start()
        thread.join()
        return done()

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

    async def late_garbage(self):
        threading.Thread(target=write_when_told, daemon=True).start()
        return done(str(os.getpid()))


keep = []


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


def write_when_told():
    folder = Path(os.environ["HOSTILE_FOLDER"])
    while not (folder / "go").exists():
        time.sleep(0.01)
    write_everywhere(b"late\n")
    (folder / "gone").touch()


def write_everywhere(data):
    for descriptor in range(3, 32):
        with contextlib.suppress(OSError):
            os.write(descriptor, data)


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


class NoAgent:
    contract = "1"
