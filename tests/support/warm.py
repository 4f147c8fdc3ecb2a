"""Programs that start without the wait for their imports: they are forked from a process that has made them.

To import Trialbed takes a second of a processor, and the tests start hundreds of its commands. A program that is forked
has the arguments, variables, folder and streams that it is started with, as one that is executed would have; only what
the interpreter reads before it imports anything must be the same, else the program is executed.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
import gc
import importlib
import json
import math
import os
import pkgutil
import runpy
import secrets
import select
import shlex
import signal
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import IO, Any

import click
import psutil

from trialbed.cli import cli
from trialbed.installed import installed_packages

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])  # else modules beside this file would be found as packages

from support.empty_stores import copy_empty_stores
from support.forked import PATH, fork_programs, program, take_variables
from support.metadata import read_metadata_once
from support.trust import read_no_certificates

SUPPORTED = sys.platform == "linux"
"""Elsewhere a process that is forked may not use the system's own libraries."""

READ_AT_START = ("PYTHON", "LANG", "LC_")
"""Beginnings of the names of variables that are read before anything is imported; folders can be added later."""

IMPORTED = (
    "jsonschema_rs",
    "trialbed",
    "trialbed_adapter_lab",
    "trialbed_evaluation",
    "trialbed_pages",
    "trialbed_plugins.datasets.bfcl",
    "trialbed_plugins.datasets.file",
    "trialbed_plugins.datasets.mini",
    "trialbed_plugins.executors.local",
    "trialbed_plugins.frameworks",
    "trialbed_plugins.model_adapters",
    "trialbed_plugins.models",
    "trialbed_plugins.recordings",
    "trialbed_plugins.reporters",
    "trialbed_plugins.scorers",
    "trialbed_scripted",
    "trialbed_selection",
    "trialbed_server",
    "trialbed_tasks",
    "trialbed_tools",
    "trialbed_verify",
)
"""What many commands import when they run, with all that is in it; what they import at once comes with the commands."""

OF_OTHERS = (
    "dotenv.main",
    "httpcore",
    "numpy.ma",
    "numpy.random",
    "uvicorn.lifespan.on",
    "uvicorn.loops.auto",
    "uvicorn.protocols.websockets.auto",
    "uvloop",
)
"""What libraries import when a client, a server or a table is made: a tenth of a second of a processor for each run."""

WHERE_INSTALLED = ("trialbed_langgraph.controlled", "trialbed_langgraph.native")
"""Adapters that workers import, if they are there."""

ENVIRONMENT = dict(os.environ)
"""The variables of the tests' own process, before any test has set one."""

LONGEST_REQUEST = 1 << 20
MOST_STREAMS = 16
"""Descriptors of one request."""
FREE = 512
"""The first descriptor that no program is given."""

STAND_IN = str(Path(__file__).with_name("stand_in.py"))


def run_warm(
    module: str, arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    """``python -m MODULE ARGUMENTS`` as ``subprocess.run`` runs it, with its output as text.

    Raises:
        subprocess.TimeoutExpired: it did not end in time, and was killed.
    """
    if not SUPPORTED or read_at_start(env) != read_at_start(ENVIRONMENT):
        command = [sys.executable, "-m", module, *arguments]
        return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=timeout, check=False)
    with started_warm(module, arguments, cwd=cwd, env=env) as program:
        code = program.wait(timeout)
        return subprocess.CompletedProcess([module, *arguments], code, program.output, program.errors)


class Program:
    """A program that was forked.

    Attributes:
        pid: leads its own session, if it was started so.
        returncode: how it ended; None as long as that was not asked for.
    """

    def __init__(self, connection: socket.socket, streams: Sequence[IO[bytes]]) -> None:
        self.returncode: int | None = None
        self._connection = connection
        self._streams = streams
        self._replies = b""
        self._lock = threading.Lock()
        self.pid = self._reply()

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code; several threads may wait.

        Raises:
            subprocess.TimeoutExpired: it has not ended in this time, and runs on.
        """
        end = math.inf if timeout is None else time.monotonic() + timeout
        while not self.has_ended():
            left = end - time.monotonic()
            if left <= 0:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            select.select([self._connection], [], [], min(left, 1))
        assert self.returncode is not None
        return self.returncode

    def has_ended(self) -> bool:
        """Whether it has ended."""
        with self._lock:
            if self.returncode is None and (self._replies or select.select([self._connection], [], [], 0)[0]):
                self.returncode = self._reply()
            return self.returncode is not None

    def _reply(self) -> int:
        """The next number from the forking process: the id of the program's process, then how it ended."""
        while b"\n" not in self._replies:
            received = self._connection.recv(100)
            assert received, "the process that programs are forked from has ended"
            self._replies += received
        line, _, self._replies = self._replies.partition(b"\n")
        return int(line)

    @property
    def output(self) -> str:
        """What it has written to its standard output."""
        return self._text(0)

    @property
    def errors(self) -> str:
        """What it has written to its standard error."""
        return self._text(1)

    def _text(self, stream: int) -> str:
        self._streams[stream].seek(0)
        return self._streams[stream].read().decode()


@contextlib.contextmanager
def started_warm(
    module: str, arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], own_session: bool = False
) -> Iterator[Program]:
    """``python -m MODULE ARGUMENTS``, killed if it still runs afterwards, with its session if it has its own.

    What the interpreter reads at its start is that of the tests' own process.
    """
    task = {"module": module, "arguments": list(arguments), "cwd": str(cwd), "env": dict(env), "session": own_session}
    with contextlib.ExitStack() as stack:
        out, err = (stack.enter_context(tempfile.TemporaryFile()) for _ in range(2))
        connection = stack.enter_context(socket.socket(socket.AF_UNIX))
        connection.connect("\0" + _forking())
        with open(os.devnull) as nothing:
            streams = [nothing.fileno(), out.fileno(), err.fileno()]
            socket.send_fds(connection, [json.dumps(task).encode() + b"\n"], streams)
        program = Program(connection, (out, err))
        try:
            yield program
        finally:
            if not program.has_ended():
                _kill(program.pid, own_session=own_session)
                program.wait()


def _kill(pid: int, *, own_session: bool) -> None:
    # It may have ended meanwhile, and may not have come to its own session yet.
    with contextlib.suppress(ProcessLookupError):
        if own_session:
            os.killpg(pid, signal.SIGKILL)
            return
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)


class _Warm(subprocess.Popen[Any]):
    """A program that is forked where that can be."""

    def __init__(self, args: Any, *rest: Any, pass_fds: Sequence[int] = (), **options: Any) -> None:
        forked = isinstance(args, Sequence) and not isinstance(args, str)
        super().__init__(warm_command(args, pass_fds) if forked else args, *rest, pass_fds=pass_fds, **options)


@contextlib.contextmanager
def warm_programs() -> Iterator[None]:
    """Let this process start what can be forked without the wait for its imports meanwhile."""
    real = subprocess.Popen
    subprocess.Popen = _Warm  # type: ignore[misc]
    try:
        yield
    finally:
        subprocess.Popen = real  # type: ignore[misc]


def warm_command(command: Sequence[str], passed: Sequence[int] = ()) -> list[str]:
    """A command that does what this one does; where that can be forked, without the wait for its imports.

    Args:
        passed: descriptors, beyond its streams, that the program inherits.
    """
    if not SUPPORTED or program([*command]) is None:
        return [*command]
    return [sys.executable, "-I", "-S", STAND_IN, _forking(), json.dumps([*passed]), *command]


def warm_bench(folder: Path) -> str:
    """A folder for ``PATH`` whose ``bench`` starts without the wait for its imports."""
    folder.mkdir()
    command = shlex.join(warm_command([sys.executable, "-m", "trialbed"]))
    (folder / "bench").write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    (folder / "bench").chmod(0o755)
    return str(folder)


def is_warm(process: psutil.Process) -> bool:
    """True for a process that was forked, not executed."""
    return __file__ in process.cmdline()


def read_at_start(env: Mapping[str, str]) -> dict[str, str]:
    """Those of these variables that are read before anything is imported."""
    return {name: value for name, value in env.items() if name.startswith(READ_AT_START) and name != PATH}


@cache
def _forking() -> str:
    """The address of the process that programs are forked from: one for all workers of a run, which ends with it."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID")
    owner = os.getppid() if run else os.getpid()
    # An abstract address: no file is left.
    address = f"trialbed-warm-{owner}-{run or secrets.token_hex(8)}"
    with open(__file__) as turn:
        fcntl.flock(turn, fcntl.LOCK_EX)  # of several workers one starts it, and the others wait
        if not _listens(address):
            subprocess.run([sys.executable, __file__, address, str(owner)], env=ENVIRONMENT, check=True)
    return address


def _listens(address: str) -> bool:
    with socket.socket(socket.AF_UNIX) as connection:
        return connection.connect_ex("\0" + address) == 0


class _Server(socketserver.ForkingMixIn, socketserver.UnixStreamServer):
    max_children = 1000
    block_on_close = False

    def service_actions(self) -> None:
        super().service_actions()
        if not psutil.pid_exists(OWNER):
            os._exit(0)


class _Handler(socketserver.BaseRequestHandler):
    """Forks one program and says how it ended."""

    def handle(self) -> None:
        request, streams, _, _ = socket.recv_fds(self.request, LONGEST_REQUEST, MOST_STREAMS)
        if not request:
            return  # a look whether this process is there
        while not request.endswith(b"\n"):
            request += self.request.recv(LONGEST_REQUEST)
        pid = os.fork()
        if pid == 0:
            self.request.close()
            _run(json.loads(request), streams)
        for stream in streams:
            os.close(stream)
        with contextlib.suppress(OSError):  # who asked for it may be gone before; below it is killed for that
            self.request.sendall(f"{pid}\n".encode())
        ended = os.pidfd_open(pid)
        if ended not in select.select([ended, self.request], [], [])[0]:
            os.kill(pid, signal.SIGKILL)  # who asked for it is gone
        _, status = os.waitpid(pid, 0)
        with contextlib.suppress(OSError):  # who asked may not wait for it any more
            self.request.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _run(task: Mapping[str, Any], streams: Sequence[int]) -> None:
    """Become the program."""
    code = 1
    try:
        # Moved out of the way first: a number that one gets may be that of another.
        moved = [fcntl.fcntl(stream, fcntl.F_DUPFD_CLOEXEC, FREE) for stream in streams]
        for stream in streams:
            os.close(stream)
        for number, stream in zip((0, 1, 2, *task.get("passed", ())), moved, strict=True):
            os.dup2(stream, number)
            os.close(stream)
        if task["session"]:
            os.setsid()
        os.chdir(task["cwd"])
        take_variables(task["env"])
        time.tzset()
        sys.path[0] = os.getcwd()
        fork_programs()
        gc.get_freeze_count = lambda: 1  # a run asks whether there are any: to count a million takes 30 ms
        code = _code(task)
        threading._shutdown()  # type: ignore[attr-defined] # waits for the program's threads, as an interpreter does
        atexit._run_exitfuncs()
    except BaseException:  # noqa: BLE001 - an exception that ends a program is shown, and is no failure of this one
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _code(task: Mapping[str, Any]) -> int:
    try:
        if "command" in task:
            run = program(task["command"])
            assert run is not None, f"{task['command']} is not forked"
            run()
        else:
            sys.argv = [task["module"], *task["arguments"]]
            runpy.run_module(task["module"], run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        sys.stderr.write(f"{end.code}\n")
        return 1
    return 0


def _import_whole(name: str) -> None:
    """Import a module and, of a package, all modules that can be imported here."""
    with contextlib.suppress(ImportError):
        module = importlib.import_module(name)
        for inner in pkgutil.iter_modules(getattr(module, "__path__", ())):
            if inner.name != "__main__":
                _import_whole(f"{name}.{inner.name}")


def _serve(address: str) -> None:
    # What a program finds in the modules is what its own imports would find: nothing was called in them but, at the
    # end, what remembers the metadata of a folder of packages until the folder changes.
    gc.disable()  # until all is imported: nothing of it goes
    for name in IMPORTED:
        _import_whole(name)
    for name in (*OF_OTHERS, *WHERE_INSTALLED):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    context = click.Context(cli)
    for name in cli.list_commands(context):
        cli.get_command(context, name)
    read_metadata_once()
    copy_empty_stores()
    installed_packages()
    read_no_certificates()
    gc.collect()
    gc.freeze()
    gc.enable()
    with _Server("\0" + address, _Handler) as server:
        if os.fork():
            os._exit(0)  # it listens: who started it goes on
        server.serve_forever(poll_interval=1)


if __name__ == "__main__":
    OWNER = int(sys.argv[2])
    sys.path[0] = ""
    _serve(sys.argv[1])
