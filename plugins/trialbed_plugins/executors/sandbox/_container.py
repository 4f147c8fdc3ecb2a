"""``--sandbox container``: bubblewrap, with namespaces of its own for files, processes, users and the network."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import chain
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
from trialbed_plugins.executors.sandbox._nobody import NOBODY, hand_over, permits
from trialbed_plugins.executors.sandbox._server import CONTAINER, ServerAddress

Mount = tuple[str, ...]
"""The arguments that put one thing into the sandbox, its place there last."""

LAUNCHER = "container.py"
INSIDE = "/run/trialbed/container.py"
NAMESPACES = ("user", "mnt", "net", "pid", "ipc", "uts")

ISOLATION = (
    *("--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts", "--unshare-cgroup-try"),
    *("--die-with-parent", "--new-session", "--cap-drop", "ALL"),
)
USERS = ("--unshare-user", "--disable-userns", "--uid", str(NOBODY), "--gid", str(NOBODY))
"""The users of a sandbox that is not root's: the one who starts it, as nobody."""

USERS_OF_ROOT = (
    "--userns",
    "@USERS@",
    "--uid",
    "0",
    "--gid",
    "0",
    "--cap-add",
    "CAP_SETUID",
    "--cap-add",
    "CAP_SETGID",
)
"""Root's sandbox has two: root, who makes it and binds files that nobody could not reach, and then nobody, whom the
launcher inside becomes. The kernel lets root change ``/proc/sys`` in any namespace, whatever root is called there.
"""


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
    by_root = os.geteuid() == 0
    if by_root:
        _check_readable(worker.interpreter.needed)
        hand_over(folder, NOBODY, NOBODY)
    shown = [
        *mounts(worker.interpreter, worker.hidden),
        ("--ro-bind", str(LAUNCHERS / LAUNCHER), INSIDE),
        ("--bind", str(folder), str(folder)),
    ]
    arguments = [
        *(bubblewrap, *ISOLATION, *(USERS_OF_ROOT if by_root else USERS)),
        *("--proc", "/proc", "--dev", "/dev", "--perms", "1777", "--tmpfs", "/dev/shm"),  # noqa: S108 - its own
        *("--bind", str(folder / "tmp"), "/tmp", *folders_above(shown)),  # noqa: S108 - its own
        *chain.from_iterable(shown),
        *("--perms", "0644", "--ro-bind-data", str(hosts), "/etc/hosts"),
        *("--remount-ro", "/proc", "--remount-ro", "/", "--chdir", str(folder), "--"),
        # The descriptors of the users and of the policy inside are known to the launcher only.
        *(worker.command[0], "-I", "-S", INSIDE, "inside", "@INSIDE@", *worker.command),
    ]
    policy = {
        "command": arguments,
        "server": (server.host, server.port),
        "hosts": hosts,
        "users": (0, NOBODY) if by_root else (),
        "inside": {
            "listen": listen,
            "namespaces": {name: os.readlink(f"/proc/self/ns/{name}") for name in NAMESPACES},
            "version": version(bubblewrap),
            "user": NOBODY if by_root else None,
        },
    }
    return worker.launcher(LAUNCHER, "outside", policy=policy)


def mounts(interpreter: Interpreter, hidden: Iterable[Path]) -> Iterator[Mount]:
    """Yield how a worker is shown its readable files, and then how the hidden ones among them are covered."""
    secret = {*interpreter.hidden, *hidden}
    covered: set[Path] = set()
    shown: set[Path] = set()
    for path in (path for path in SYSTEM if path.is_symlink()):
        yield "--symlink", os.readlink(path), str(path)
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
                yield "--ro-bind", str(part), str(part)
    for path in sorted(covered):
        yield ("--tmpfs", str(path)) if path.is_dir() else ("--ro-bind", "/dev/null", str(path))


def folders_above(mounted: Sequence[Mount]) -> Iterator[str]:
    """The arguments that make the folders above everything that is mounted, which all users may enter.

    Bubblewrap would make them as they are outside: only their owner can enter root's home.
    """
    inside = {Path(mount[-1]) for mount in mounted}
    above = {parent for place in inside for parent in place.parents if parent != Path("/")}
    for folder in sorted(above):
        if inside.isdisjoint((folder, *folder.parents)):
            yield from ("--perms", "0755", "--dir", str(folder))


def _check_readable(needed: Iterable[Path]) -> None:
    """See that nobody may read the interpreter's files; the folders above them do not matter in the sandbox.

    Raises:
        SandboxUnavailable: one cannot be read.
    """
    unreadable = next((path for path in needed if not permits(path, NOBODY, NOBODY, 4)), None)
    if unreadable is not None:
        raise SandboxUnavailable(
            CONTAINER,
            f"workers of root run as uid {NOBODY}, which may not read {unreadable}",
            "let other users read Python, Trialbed and the agent (`chmod -R o+rX`), or run as another user",
        )


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


def _hosts(server: ServerAddress) -> str:
    """The content of ``/etc/hosts`` in the sandbox: a server that is given by name is found at the loopback address."""
    names = f"localhost {server.host}" if server.is_name else "localhost"
    return f"127.0.0.1 {names}\n::1 localhost\n"
