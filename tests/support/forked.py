"""The programs that a forked one starts: forked from it in turn, instead of importing what it has imported.

They are children of the program as executed ones would be, with the streams, variables, folder, session and signals
that it starts them with. They have its modules; its event loop, threads and open files they leave behind.
"""

from __future__ import annotations

import _imp
import asyncio
import atexit
import contextvars
import faulthandler
import gc
import os
import runpy
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import _bootstrap
from pathlib import Path
from typing import Any, NoReturn

from trialbed.worker import supervised_command, worker_command

FORKED = ("trialbed", "trialbed_adapter_lab", "trialbed_server")
"""Modules that are run as programs, with any arguments."""

SUPERVISOR = supervised_command([])
WORKER = worker_command("")[:-1]
HANDLED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGCHLD, signal.SIGUSR1)
IGNORED = (signal.SIGPIPE, signal.SIGXFSZ)
"""Signals that every Python ignores."""

DESCRIPTORS = 4096

PATH = "PYTHONPATH"
"""The variable with folders of ``sys.path``."""

_execute = subprocess._fork_exec  # type: ignore[attr-defined]


def fork_programs() -> None:
    """From now on, let this process fork its servers and workers."""
    subprocess._fork_exec = _start  # type: ignore[attr-defined]


def _start(*given: Any) -> int:
    """Stands in for the function by which ``subprocess`` starts a program; its arguments come by position."""
    arguments, _, _, kept, folder, variables, stdin, _, _, stdout, _, stderr, _, report, _, own_session, *_ = given
    run, passed = program(list(arguments)), [one for one in kept if one != report]
    if run is None or variables is None:
        return int(_execute(*given))
    pid = fork_between_imports()
    if pid == 0:
        _leave_behind((stdin, stdout, stderr), passed, own_session=bool(own_session))
        if folder is not None:
            os.chdir(folder)
        take_variables(dict(os.fsdecode(variable).split("=", 1) for variable in variables))
        contextvars.Context().run(_end_with, run)
    return pid


def fork_between_imports() -> int:
    """Fork when no other thread imports: it would leave the lock of its module behind, and nobody to release it."""
    while True:
        _imp.acquire_lock()
        try:
            if not _others_import():
                return os.fork()
        finally:
            _imp.release_lock()
        time.sleep(0.001)


def _others_import() -> bool:
    locks = [found for reference in [*_bootstrap._module_locks.values()] if (found := reference()) is not None]  # type: ignore[attr-defined]
    return any(lock.owner not in (None, threading.get_ident()) for lock in locks)


def program(arguments: Sequence[str]) -> Callable[[], None] | None:
    """Returns what runs this command in this process, if it is one of those that are forked."""
    match arguments:
        case [sys.executable, "-P", "-m", name, *given] if name in FORKED:
            return partial(_run_elsewhere, name, given)
        case [sys.executable, "-m", name, *given] if name in FORKED:
            return partial(_run_here, name, given)
    command = arguments[len(SUPERVISOR) :]
    is_worker = arguments[: len(SUPERVISOR)] == SUPERVISOR and command[:-1] == WORKER
    if is_worker:
        return partial(_supervise, command)
    return None


def take_variables(variables: Mapping[str, str]) -> None:
    """Replace this process's variables, and with them the folders of ``PYTHONPATH`` behind the one it starts in."""
    own = _folders()
    os.environ.clear()
    os.environ.update(variables)
    sys.path[1:] = [*_folders(), *(folder for folder in sys.path[1:] if folder not in own)]


def _folders() -> list[str]:
    return [os.path.abspath(folder) for folder in os.environ.get(PATH, "").split(os.pathsep) if folder]


def _leave_behind(streams: Sequence[int], passed: Sequence[int] = (), *, own_session: bool) -> None:
    """Become a process of its own."""
    # What the other process has open is closed below; nothing of it may close it again.
    gc.freeze()
    if own_session:
        os.setsid()
    for number, stream in enumerate(streams):
        if stream >= 0:
            os.dup2(stream, number)
    first = 3
    for one in sorted(passed):
        os.closerange(first, one)
        first = one + 1
    os.closerange(first, DESCRIPTORS)
    signal.set_wakeup_fd(-1)
    for number in HANDLED:
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    atexit._clear()
    asyncio._set_running_loop(None)
    asyncio.set_event_loop_policy(None)
    # Modules that are run are not pytest's to find.
    sys.meta_path[:] = [finder for finder in sys.meta_path if not type(finder).__module__.startswith("_pytest.")]
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, buffering=1, closefd=False)  # noqa: SIM115 - the process's own
        for number, mode in enumerate("rww")
    )


def _supervise(command: Sequence[str]) -> None:
    """Be a worker's supervisor; what it executes as the worker is run instead."""
    execute = os.execvp

    def run(_file: str, arguments: Sequence[str]) -> None:
        os.execvp = execute  # type: ignore[assignment]
        for number in IGNORED:
            signal.signal(number, signal.SIG_IGN)
        faulthandler.enable()
        _end_with(partial(_run_here, "trialbed.worker", arguments[len(WORKER) - 1 :]))

    os.execvp = run  # type: ignore[assignment]
    runpy.run_path(SUPERVISOR[-1])["supervise"](command)


def _run_here(name: str, arguments: Sequence[str]) -> None:
    sys.path[0] = os.getcwd()
    _run_module(name, arguments)


def _run_elsewhere(name: str, arguments: Sequence[str]) -> None:
    sys.path[0] = os.devnull  # holds the place of the folder in which no module is looked for
    _run_module(name, arguments)


def _run_module(name: str, arguments: Sequence[str]) -> None:
    Path("/proc/self/comm").write_text(name)  # its command line is that of the process it was forked from
    sys.argv = [name, *arguments]
    runpy.run_module(name, run_name="__main__", alter_sys=True)


def _end_with(run: Callable[[], None]) -> NoReturn:
    code = 1
    try:
        try:
            run()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
        threading._shutdown()  # type: ignore[attr-defined] # waits for its threads, as an interpreter does
        atexit._run_exitfuncs()
        sys.stdout.flush()
    except BaseException:  # noqa: BLE001 - an exception that ends a program is shown
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)
