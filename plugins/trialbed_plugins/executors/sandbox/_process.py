"""``--sandbox process``: Landlock, seccomp and another user id, which the worker's own process takes on."""

from __future__ import annotations

import base64
import os
import pwd
import socket
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from trialbed.errors import SandboxUnavailable
from trialbed_plugins.executors.sandbox._inside import SETTINGS, SYSTEM, SandboxedWorker, view
from trialbed_plugins.executors.sandbox._interpreters import Interpreter
from trialbed_plugins.executors.sandbox._nobody import NOBODY, hand_over, permits, readable_by
from trialbed_plugins.executors.sandbox._seccomp import program
from trialbed_plugins.executors.sandbox._server import PROCESS

DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
KERNEL = (
    *("/proc/self", "/proc/cpuinfo", "/proc/filesystems", "/proc/loadavg", "/proc/meminfo", "/proc/stat"),
    *("/proc/sys/kernel/ostype", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/random", "/proc/sys/vm"),
    *("/proc/uptime", "/proc/version", "/sys/devices/system/cpu"),
)
HOSTS = Path("/etc/hosts")
CAP_DAC_READ_SEARCH = 2


def command(worker: SandboxedWorker) -> list[str]:
    """The command that puts a worker into the sandbox.

    Raises:
        SandboxUnavailable: the user that workers run as cannot be given what they need.
    """
    folder, interpreter, server = worker.folder, worker.interpreter, worker.server
    user = _user(interpreter, folder)
    if user is not None:
        hand_over(folder, user["uid"], user["gid"])
    family = socket.AF_INET6 if server.is_ipv6 else socket.AF_INET
    policy = {
        "files": files(folder, interpreter, worker.hidden),
        "port": server.port,
        "family": family,
        "seccomp": base64.b64encode(program(family)).decode(),
        "user": user,
        "needed": [str(path) for path in interpreter.needed],
    }
    return [*worker.launcher("process.py", policy=policy), *worker.command]


def files(folder: Path, interpreter: Interpreter, hidden: Iterable[Path]) -> dict[str, list[str]]:
    """Right -> the files and folders for which a worker has it."""
    readable = [path for path in (*SYSTEM, *SETTINGS, HOSTS, *interpreter.readable) if path.exists()]
    seen = view([path.resolve() for path in readable], {*interpreter.hidden, *hidden})
    return {
        "read": [*map(str, seen.whole), *KERNEL],
        "list": [*map(str, (*seen.listed, *interpreter.listed))],
        "device": [*DEVICES],
        "write": [str(folder)],
    }


def _user(interpreter: Interpreter, folder: Path) -> dict[str, Any] | None:
    """The user that workers of root run as; None for another user's workers, which run as that user."""
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam("nobody")
        uid, gid = entry.pw_uid, entry.pw_gid
    except KeyError:
        uid = gid = NOBODY
    used = (*interpreter.needed, *interpreter.listed)
    unreadable = next((path for path in used if not readable_by(path, uid, gid)), None)
    # The folder itself is handed over, and the one above it opened.
    unreadable = unreadable or next((path for path in folder.parents[1:] if not permits(path, uid, gid, 1)), None)
    if unreadable is not None and not _has_capability(CAP_DAC_READ_SEARCH):
        raise SandboxUnavailable(
            PROCESS,
            f"workers of root run as uid {uid}, which cannot read {unreadable}",
            "have Python, Trialbed and the agent outside of root's home, or run as another user",
        )
    return {"uid": uid, "gid": gid, "read_any": unreadable is not None}


def _has_capability(number: int) -> bool:
    text = Path("/proc/self/status").read_text(encoding="utf-8")
    mask = next(line.partition(":")[2] for line in text.splitlines() if line.startswith("CapPrm:"))
    return bool(int(mask, 16) >> number & 1)
