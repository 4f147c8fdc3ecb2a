"""Programs that start without the wait for their imports: they are forked from a process that has made them.

To import Trialbed takes a second of a processor, and the tests start hundreds of its commands. A program that is forked
has the arguments, variables, folder and streams that it is started with, as one that is executed would have; only what
the interpreter reads before it imports anything must be the same, else the program is executed.
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import importlib
import json
import os
import runpy
import secrets
import signal
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import click
import psutil

from trialbed.cli import cli

if __name__ == "__main__":
    sys.path[0] = str(Path(__file__).parents[1])  # else modules beside this file would be found as packages

from support.forked import fork_servers_and_workers

SUPPORTED = sys.platform == "linux"
"""Elsewhere a process that is forked may not use the system's own libraries."""

READ_AT_START = ("PYTHON", "LANG", "LC_")
"""Beginnings of the names of variables that are read before anything is imported."""

PATH = "PYTHONPATH"
"""The one of them that can be followed later: folders of ``sys.path``."""

IMPORTED = (
    "jsonschema",
    "trialbed.engine",
    "trialbed.store",
    "trialbed_adapter_kit",
    "trialbed_plugins.datasets.mini",
    "trialbed_plugins.executors.local",
    "trialbed_plugins.frameworks.reference",
    "trialbed_plugins.judges.rule",
    "trialbed_plugins.reporters",
    "trialbed_plugins.scorers",
    "trialbed_selection.selectors",
    "trialbed_server.simulators.template",
    "trialbed_verify.comparer",
    "trialbed_verify.comparison",
    "trialbed_verify.ranking",
    "trialbed_verify.verification",
)
"""What many commands import when they run; what they import at once comes with the commands."""

WHERE_INSTALLED = ("trialbed_langgraph.controlled", "trialbed_langgraph.native")
"""Adapters that workers import, if they are there."""

ENVIRONMENT = dict(os.environ)
"""The variables of the tests' own process, before any test has set one."""

LONGEST_REQUEST = 1 << 20


def run_warm(
    module: str, arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    """``python -m MODULE ARGUMENTS`` as ``subprocess.run`` runs it, with its output as text.

    Raises:
        subprocess.TimeoutExpired: it did not end in time, and was killed.
    """
    if not SUPPORTED or _read_at_start(env) != _read_at_start(ENVIRONMENT):
        command = [sys.executable, "-m", module, *arguments]
        return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=timeout, check=False)
    task = {"module": module, "arguments": list(arguments), "cwd": str(cwd), "env": dict(env)}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, open(os.devnull) as nothing:
        code = _ended(task, [nothing.fileno(), out.fileno(), err.fileno()], timeout)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode())
    return subprocess.CompletedProcess([module, *arguments], code, *texts)


def is_warm(process: psutil.Process) -> bool:
    """Whether programs are forked from this child of the test, which is no program that a test has started."""
    return __file__ in process.cmdline()


def _read_at_start(env: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in env.items() if name.startswith(READ_AT_START) and name != PATH}


def _ended(task: Mapping[str, object], streams: Sequence[int], timeout: float) -> int:
    """The exit code of a program."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect("\0" + _forking())
        connection.settimeout(timeout)
        socket.send_fds(connection, [json.dumps(task).encode() + b"\n"], list(streams))
        replies = connection.makefile()
        pid = int(replies.readline())
        try:
            return int(replies.readline())
        except TimeoutError:
            os.kill(pid, signal.SIGKILL)
            raise subprocess.TimeoutExpired(str(task["arguments"]), timeout) from None


@cache
def _forking() -> str:
    """The address of this process's own forking process, which ends with it."""
    # An abstract address: no file is left.
    address = f"trialbed-warm-{os.getpid()}-{secrets.token_hex(8)}"
    process = subprocess.Popen([sys.executable, __file__, address], env=ENVIRONMENT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    with process.stdout:
        assert process.stdout.readline(), "the process that programs are forked from did not start"
    atexit.register(process.wait)
    atexit.register(process.kill)
    return address


class _Server(socketserver.ForkingMixIn, socketserver.UnixStreamServer):
    max_children = 1000
    block_on_close = False

    def service_actions(self) -> None:
        super().service_actions()
        if os.getppid() != PARENT:
            os._exit(0)


class _Handler(socketserver.BaseRequestHandler):
    """Forks one program and says how it ended."""

    def handle(self) -> None:
        request, streams, _, _ = socket.recv_fds(self.request, LONGEST_REQUEST, 3)
        while not request.endswith(b"\n"):
            request += self.request.recv(LONGEST_REQUEST)
        pid = os.fork()
        if pid == 0:
            self.request.close()
            _run(json.loads(request), streams)
        for stream in streams:
            os.close(stream)
        self.request.sendall(f"{pid}\n".encode())
        _, status = os.waitpid(pid, 0)
        with contextlib.suppress(OSError):  # who asked may not wait for it any more
            self.request.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())


def _run(task: Mapping[str, object], streams: Sequence[int]) -> None:
    """Become the program."""
    code = 1
    try:
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
            os.close(stream)
        os.chdir(str(task["cwd"]))
        own = _folders()
        os.environ.clear()
        os.environ.update(task["env"])  # type: ignore[call-overload]
        time.tzset()
        sys.path[:] = [os.getcwd(), *_folders(), *(folder for folder in sys.path[1:] if folder not in own)]
        sys.argv = [str(task["module"]), *task["arguments"]]  # type: ignore[misc]
        fork_servers_and_workers()
        code = _code(str(task["module"]))
        threading._shutdown()  # type: ignore[attr-defined] # waits for the program's threads, as an interpreter does
        atexit._run_exitfuncs()
    except BaseException:  # noqa: BLE001 - an exception that ends a program is shown, and is no failure of this one
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def _folders() -> list[str]:
    return [os.path.abspath(folder) for folder in os.environ.get(PATH, "").split(os.pathsep) if folder]


def _code(module: str) -> int:
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            return end.code or 0
        sys.stderr.write(f"{end.code}\n")
        return 1
    return 0


def _serve(address: str) -> None:
    # What a program finds in the modules is what its own imports would find: nothing was called in them.
    for name in IMPORTED:
        importlib.import_module(name)
    importlib.import_module("trialbed_server").serve  # noqa: B018 - loads what a server needs
    for name in WHERE_INSTALLED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    context = click.Context(cli)
    for name in cli.list_commands(context):
        cli.get_command(context, name)
    gc.collect()
    gc.freeze()
    with _Server("\0" + address, _Handler) as server:
        os.write(1, b"ready\n")
        server.serve_forever(poll_interval=1)


if __name__ == "__main__":
    PARENT = os.getppid()
    sys.path[0] = ""
    _serve(sys.argv[1])
