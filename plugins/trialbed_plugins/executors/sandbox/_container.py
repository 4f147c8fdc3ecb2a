"""``--sandbox container``: bubblewrap, with namespaces of its own for files, processes, users and the network."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from trialbed.errors import SandboxUnavailable
from trialbed_plugins.executors.sandbox._inside import (
    LAUNCHERS,
    SETTINGS,
    SYSTEM,
    SandboxedWorker,
    is_hidden,
    masks,
    view,
)
from trialbed_plugins.executors.sandbox._interpreters import Interpreter
from trialbed_plugins.executors.sandbox._server import CONTAINER, ServerAddress

LAUNCHER = "container.py"
INSIDE = "/run/trialbed/container.py"
NAMESPACES = ("user", "mnt", "net", "pid", "ipc", "uts")
NOBODY = "65534"

ISOLATION = (
    *("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"),
    *("--uid", NOBODY, "--gid", NOBODY, "--cap-drop", "ALL"),
)


def command(worker: SandboxedWorker) -> list[str]:
    """The command that starts a worker in the sandbox, and carries its connections to the server.

    Raises:
        UsageError: a sandbox cannot reach a server there.
        SandboxUnavailable: bubblewrap is missing.
    """
    server, folder = worker.server, worker.folder
    listen = (server.loopback, server.port)
    hosts = worker.descriptors.text(_hosts(server))
    bubblewrap = find_bubblewrap()
    arguments = [
        *(bubblewrap, *ISOLATION),
        *("--proc", "/proc", "--dev", "/dev", "--bind", str(folder / "tmp"), "/tmp"),  # noqa: S108 - its own
        *mounts(worker.interpreter, worker.hidden),
        *("--ro-bind-data", str(hosts), "/etc/hosts", "--ro-bind", str(LAUNCHERS / LAUNCHER), INSIDE),
        *("--bind", str(folder), str(folder), "--remount-ro", "/", "--chdir", str(folder), "--"),
        # The descriptor of the policy inside is known to the launcher only.
        *(worker.command[0], "-I", "-S", INSIDE, "inside", "@INSIDE@", *worker.command),
    ]
    policy = {
        "command": arguments,
        "server": (server.host, server.port),
        "hosts": hosts,
        "inside": {"listen": listen, "namespaces": _own_namespaces(), "version": version(bubblewrap)},
    }
    return worker.launcher(LAUNCHER, "outside", policy=policy)


def mounts(interpreter: Interpreter, hidden: Iterable[Path]) -> Iterator[str]:
    """The arguments that show a worker its readable files, and then cover the hidden ones among them."""
    secret = {*interpreter.hidden, *hidden}
    covered: set[Path] = set()
    shown: set[Path] = set()
    for path in (path for path in SYSTEM if path.is_symlink()):
        yield from ("--symlink", os.readlink(path), str(path))
    folders = (path for path in SYSTEM if not path.is_symlink())
    for path in dict.fromkeys((*folders, *SETTINGS, *interpreter.readable)):
        # The entries of a folder that is shown are there already; a link, to which nothing can be bound, may be among
        # it.
        if path.exists() and not is_hidden(path, secret) and shown.isdisjoint(path.parents):
            below = set(masks(path, secret))
            complete = all(other.exists() for other in below)
            covered |= below if complete else set()
            # A file that does not exist yet cannot be covered: only its neighbours are shown.
            for part in (path,) if complete else view([path], secret).whole:
                shown.add(part)
                yield from ("--ro-bind", str(part), str(part))
    for path in sorted(covered):
        yield from ("--tmpfs", str(path)) if path.is_dir() else ("--ro-bind", "/dev/null", str(path))


def find_bubblewrap() -> str:
    """The path of ``bwrap``.

    Raises:
        SandboxUnavailable: it is not installed.
    """
    found = shutil.which("bwrap")
    if found is None:
        raise SandboxUnavailable(
            CONTAINER,
            "bubblewrap is not installed",
            "install it with your system's package manager, for example `apt install bubblewrap`",
        )
    return found


@cache
def version(bubblewrap: str) -> str:
    """The version that a ``bwrap`` reports: ``bubblewrap 0.8.0``."""
    return subprocess.run([bubblewrap, "--version"], capture_output=True, text=True, check=False).stdout.strip()


def _own_namespaces() -> dict[str, str]:
    return {name: os.readlink(f"/proc/self/ns/{name}") for name in NAMESPACES}


def _hosts(server: ServerAddress) -> str:
    """The content of ``/etc/hosts`` in the sandbox: a server that is given by name is found at the loopback address."""
    names = f"localhost {server.host}" if server.is_name else "localhost"
    return f"127.0.0.1 {names}\n::1 localhost\n"
