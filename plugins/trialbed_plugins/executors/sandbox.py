"""The sandbox of workers, made of Landlock, seccomp and, for root, another user.

``launch`` prepares the start of a worker. The program ``_confine.py`` gives up the rights and becomes the worker.
"""

from __future__ import annotations

import base64
import ctypes
import errno
import json
import os
import platform
import pwd
import socket
import subprocess
import sys
import tempfile
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from trialbed.errors import SandboxUnavailable, UsageError
from trialbed.installed import extra_command
from trialbed_plugins.executors._worker import Launch
from trialbed_plugins.executors.interpreters import Interpreter, environment_interpreter, own_interpreter

LANDLOCK_CREATE_RULESET, ASK_FOR_ABI, NETWORK_ABI = 444, 1, 4
ARCHITECTURES = ("x86_64", "aarch64")
NOWHERE = "http://127.0.0.1:65535"
LIMIT = 60
"""Timeout for an empty worker."""

NOBODY = 65534
CAP_DAC_READ_SEARCH = 2

SYSTEM = tuple(map(Path, ("/usr", "/lib", "/lib32", "/lib64", "/libx32", "/bin", "/sbin")))
"""Programs and libraries. On most systems, all but the first are links into it."""

SETTINGS = tuple(
    Path("/etc") / name
    for name in (
        *("alternatives", "ca-certificates", "gai.conf", "group", "host.conf", "ld.so.cache", "ld.so.conf"),
        *("ld.so.conf.d", "localtime", "mime.types", "nsswitch.conf", "passwd", "pki", "protocols", "services"),
        *("ssl/certs", "ssl/openssl.cnf", "timezone"),
    )
)
"""Settings of the system without secrets."""

HOSTS = Path("/etc/hosts")
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
KERNEL = (
    *("/proc/self", "/proc/cpuinfo", "/proc/filesystems", "/proc/loadavg", "/proc/meminfo", "/proc/stat"),
    *("/proc/sys/kernel/ostype", "/proc/sys/kernel/osrelease", "/proc/sys/kernel/random", "/proc/sys/vm"),
    *("/proc/uptime", "/proc/version", "/sys/devices/system/cpu"),
)

FOLDERS = {
    "HOME": "home",
    "TMPDIR": "tmp",
    "XDG_CACHE_HOME": "home/.cache",
    "XDG_CONFIG_HOME": "home/.config",
    "XDG_DATA_HOME": "home/.local/share",
    "XDG_STATE_HOME": "home/.local/state",
}
"""Maps variables to folders below the worker's own."""

PLACES = ("TEMP", "TMP", "XDG_RUNTIME_DIR")
"""Variables that lead to the user's other programs."""


def check_sandbox(hidden: Sequence[Path] = (), server_url: str = NOWHERE) -> tuple[str, ...]:
    """Start this interpreter in the sandbox, and return the active mechanisms.

    Raises:
        UsageError: workers could not reach the server, or a folder to hide contains their packages.
        SandboxUnavailable: the sandbox cannot be created here; the message names the missing part and how to get it.
    """
    _find_parts()
    with tempfile.TemporaryDirectory(prefix="trialbed-") as parent:
        folder = Path(parent, "worker")
        folder.mkdir()
        with launch([sys.executable, "-I", "-S", "-c", "pass"], {}, folder, hidden, server_url) as launched:
            done = subprocess.run(
                launched.command,
                env=dict(launched.environment),
                cwd=folder,
                pass_fds=launched.descriptors,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=LIMIT,
                text=True,
            )
            held = launched.held()
    if done.returncode != 0 or not held:
        reason = done.stderr.strip().removeprefix("--sandbox: ") or f"exit code {done.returncode}"
        raise SandboxUnavailable(
            f"a worker cannot be started in it here ({reason})", "run as a user who can read the interpreter"
        )
    return held


def _find_parts() -> None:
    if sys.platform != "linux" or platform.machine() not in ARCHITECTURES:
        raise SandboxUnavailable(
            f"this is {platform.system()} on {platform.machine()}",
            f"use Linux on {' or '.join(ARCHITECTURES)}, or run without --sandbox in a virtual machine",
        )
    abi = landlock_abi()
    if abi < NETWORK_ABI:
        found = f"has Landlock ABI {abi}" if abi > 0 else "has no Landlock, or it is switched off"
        raise SandboxUnavailable(
            f"this kernel ({platform.release()}) {found}",
            f"use Linux 6.7 or later with landlock in its lsm= parameter (ABI {NETWORK_ABI})",
        )
    try:
        import pyseccomp  # noqa: F401
    except ImportError:
        raise SandboxUnavailable("pyseccomp is not installed", f"install it: {extra_command('sandbox')}") from None
    except RuntimeError as error:
        raise SandboxUnavailable(
            f"pyseccomp cannot be used: {error}", "install libseccomp, for example `apt install libseccomp2`"
        ) from None


def landlock_abi() -> int:
    """Return the ABI of the kernel's Landlock; 0 or less without Landlock."""
    return int(ctypes.CDLL(None).syscall(LANDLOCK_CREATE_RULESET, None, ctypes.c_size_t(0), ASK_FOR_ABI))


@contextmanager
def launch(
    command: Sequence[str],
    environment: Mapping[str, str],
    folder: Path,
    hidden: Collection[Path],
    server_url: str,
    *,
    environment_lock: str | None = None,
    files: Sequence[Path] = (),
) -> Iterator[Launch]:
    """Prepare the start of a worker in the sandbox. Leave the context once it is ready, which closes descriptors.

    Args:
        command: the worker's command.
        environment: the worker's environment.
        folder: the worker's own folder, the only one it may write to.
        hidden: files and folders that it must not see, even within readable ones.
        server_url: the only server that it may connect to.
        environment_lock: the lock of the worker's own environment; None if it runs in this interpreter.
        files: more files and folders that it may read.

    Raises:
        UsageError: the worker could not reach the server, or a folder to hide contains its packages.
        SandboxUnavailable: the user of the workers cannot get the rights they need.
    """
    family, port = _server(server_url)
    if environment_lock is None:
        interpreter = own_interpreter(environment.get("PYTHONPATH", ""))
    else:
        interpreter = environment_interpreter(command[0], environment_lock)
    given = [place for path in files for place in dict.fromkeys((path, path.resolve())) if place.exists()]
    interpreter = replace(
        interpreter,
        readable=(*interpreter.readable, *given),
        needed=(*interpreter.needed, *filter(Path.is_file, given)),
    )
    for path in hidden:
        inside = next((other for other in interpreter.readable if path in other.parents), None)
        if inside is not None:
            raise UsageError(
                f"--sandbox: workers must not see {path}, but need {inside}, which is in it; "
                "name another folder with --output, --data-dir or --store, or in the file of tasks that names it"
            )
    for place in FOLDERS.values():
        (folder / place).mkdir(parents=True, exist_ok=True)
    user = _hand_over(interpreter, folder)
    with ExitStack() as stack:
        report, writable = os.pipe()
        stack.callback(os.close, report)
        stack.callback(os.close, writable)
        os.set_blocking(report, False)
        policy = {
            "files": _rights(folder, interpreter, hidden),
            "port": port,
            "family": family,
            "seccomp": base64.b64encode(_seccomp_program(family)).decode(),
            "user": user,
            "needed": [str(path) for path in interpreter.needed],
            "report": writable,
        }
        file = stack.enter_context(tempfile.TemporaryFile())
        file.write(json.dumps(policy).encode())
        file.seek(0)
        # -I -S: no package, .pth file or sitecustomize is loaded before the sandbox holds.
        confine = [sys.executable, "-I", "-S", str(Path(__file__).with_name("_confine.py")), str(file.fileno())]
        yield Launch([*confine, *command], _own_environment(environment, folder), (writable, file.fileno()), report)


def _server(url: str) -> tuple[int, int]:
    """Return the address family and the port of a server.

    Raises:
        UsageError: the host is a name, which sandboxed workers cannot look up.
    """
    parts = urlsplit(url)
    host = parts.hostname or "localhost"
    try:
        family = socket.AF_INET6 if host != "localhost" and ip_address(host).version == 6 else socket.AF_INET
    except ValueError:
        raise UsageError(
            f"--server-url: with --sandbox, workers cannot look up {host}; give the server's address"
        ) from None
    return family, parts.port or (443 if parts.scheme == "https" else 80)


def _own_environment(environment: Mapping[str, str], folder: Path) -> dict[str, str]:
    """Return the environment with the worker's own folder as home and for temporary files and caches."""
    kept = {name: value for name, value in environment.items() if name not in PLACES}
    # Packages are read-only, so Python cannot store bytecode with them.
    return kept | {name: str(folder / place) for name, place in FOLDERS.items()} | {"PYTHONDONTWRITEBYTECODE": "1"}


def _rights(folder: Path, interpreter: Interpreter, hidden: Iterable[Path]) -> dict[str, list[str]]:
    """Return the files and folders for each right.

    A readable folder that contains a hidden file is split into its entries. Files that are added to it later are not
    visible, so a hidden file need not exist yet.
    """
    secret = {*interpreter.hidden, *hidden}
    whole: list[Path] = []
    listed: list[Path] = []

    def split(path: Path) -> None:
        if any(path.is_relative_to(other) for other in secret):
            return
        if not any(other.is_relative_to(path) for other in secret):
            whole.append(path)
            return
        listed.append(path)
        for child in sorted(path.iterdir()):
            # A link could lead to a hidden file. Its target is visible if it is readable itself.
            if not child.is_symlink():
                split(child)

    for path in (*SYSTEM, *SETTINGS, HOSTS, *interpreter.readable):
        if path.exists():
            split(path.resolve())
    return {
        "read": [*dict.fromkeys(map(str, whole)), *KERNEL],
        "list": [*dict.fromkeys(map(str, listed)), *map(str, interpreter.listed)],
        "device": [*DEVICES],
        "write": [str(folder)],
    }


def _hand_over(interpreter: Interpreter, folder: Path) -> dict[str, Any] | None:
    """Give the folder to the user for root's workers. Workers of other users run as these.

    Raises:
        SandboxUnavailable: that user cannot read the interpreter.
    """
    if os.geteuid() != 0:
        return None
    try:
        entry = pwd.getpwnam("nobody")
        uid, gid = entry.pw_uid, entry.pw_gid
    except KeyError:
        uid = gid = NOBODY

    def permits(path: Path, bit: int) -> bool:
        status = path.stat()
        shift = 6 if status.st_uid == uid else 3 if status.st_gid == gid else 0
        return bool(status.st_mode >> shift & bit)

    used = (*interpreter.needed, *interpreter.listed)
    unreadable = next(
        (one for one in used if not (permits(one, 4) and all(permits(at, 1) for at in one.parents))), None
    )
    # The worker's folder is handed over, and its parent opened, so both are readable.
    unreadable = unreadable or next((path for path in folder.parents[1:] if not permits(path, 1)), None)
    if unreadable is not None and not _can_read_all():
        raise SandboxUnavailable(
            f"workers of root run as uid {uid}, which cannot read {unreadable}",
            "have Python, Trialbed and the agent outside of root's home, or run as another user",
        )
    for path in (folder, *folder.rglob("*")):
        os.chown(path, uid, gid)
    # The entries of the parent folder can be reached but not listed.
    folder.parent.chmod(0o711)
    return {"uid": uid, "gid": gid, "read_any": unreadable is not None}


def _can_read_all() -> bool:
    text = Path("/proc/self/status").read_text(encoding="utf-8")
    mask = next(line.partition(":")[2] for line in text.splitlines() if line.startswith("CapPrm:"))
    return bool(int(mask, 16) >> CAP_DAC_READ_SEARCH & 1)


REFUSED = (
    # Other processes: their memory, files and limits.
    *("kcmp", "pidfd_getfd", "pidfd_send_signal", "process_madvise", "process_mrelease"),
    *("process_vm_readv", "process_vm_writev", "ptrace", "setpriority"),
    # Objects other than files that the processes of a user share.
    *("add_key", "keyctl", "request_key"),
    *("mq_open", "mq_unlink", "msgget", "semget", "shmat", "shmget"),
    # File systems and namespaces.
    *("chroot", "fsconfig", "fsmount", "fsopen", "fspick", "mount", "mount_setattr", "move_mount", "open_tree"),
    *("pivot_root", "setns", "umount", "umount2", "unshare"),
    # Calls that Landlock does not cover: attributes of readable files, and files by their handle.
    *("chmod", "chown", "fchmod", "fchmodat", "fchmodat2", "fchown", "fchownat", "lchown"),
    *("fremovexattr", "fsetxattr", "lremovexattr", "lsetxattr", "removexattr", "setxattr", "setxattrat"),
    *("futimesat", "utime", "utimensat", "utimes"),
    *("name_to_handle_at", "open_by_handle_at"),
    # Calls that reach deep into the kernel, or hide other calls.
    *("bpf", "fanotify_init", "io_uring_enter", "io_uring_register", "io_uring_setup", "perf_event_open"),
    *("userfaultfd",),
    # The machine.
    *("acct", "adjtimex", "clock_adjtime", "clock_settime", "delete_module", "finit_module", "init_module"),
    *("ioperm", "iopl", "kexec_file_load", "kexec_load", "quotactl", "quotactl_fd", "reboot", "sethostname"),
    *("setdomainname", "settimeofday", "swapoff", "swapon", "syslog", "vhangup"),
    # Servers: a worker only connects.
    *("accept", "accept4", "listen"),
)
"""System calls that a worker does not need. Calls that the kernel or architecture lacks are skipped."""

NAMESPACE_FLAGS = (0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x00020000)
"""``CLONE_NEW*``."""

FAST_OPEN = 0x20000000
"""``MSG_FASTOPEN``, which connects while sending. Landlock would not notice it."""

TERMINAL_INPUT, TERMINAL_CONSOLE = 0x5412, 0x541C
SOCKET_TYPE = 0xF
SCHEDULING = ("sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler")
IOPRIO_WHO_PROCESS = 1
TCP = 6


@cache
def _seccomp_program(family: int) -> bytes:
    """Return the filter of system calls in the kernel's format (BPF).

    Args:
        family: the address family that a worker may connect to, ``AF_INET`` or ``AF_INET6``.

    Raises:
        ImportError: pyseccomp or libseccomp is not installed.
    """
    import pyseccomp

    filter_ = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    for name in REFUSED:
        # Calls that this libseccomp does not know have negative numbers.
        if pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name) >= 0:
            filter_.add_rule(pyseccomp.ERRNO(errno.EPERM), name)
    # Its flags are in memory, which a filter cannot read. The C library falls back to clone.
    filter_.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    for name, *arguments in _conditions(pyseccomp, family):
        filter_.add_rule(pyseccomp.ERRNO(errno.EPERM), name, *arguments)
    with tempfile.TemporaryFile() as file:
        filter_.export_bpf(file)
        file.seek(0)
        return file.read()


def _conditions(lib: Any, family: int) -> Iterator[tuple[Any, ...]]:
    """Yield ``(call, argument...)`` for each case of a call that is only rejected with certain arguments."""

    def masked(position: int, mask: int, value: int) -> Any:
        return lib.Arg(position, lib.MASKED_EQ, mask, value)

    # Allow TCP over one address family, and pairs of connected UNIX sockets for event loops. The kernel reads only the
    # lower half of an argument, which could circumvent a test for equality. So everything else is rejected instead.
    yield "socket", lib.Arg(0, lib.NE, family)
    yield from (("socket", masked(1, SOCKET_TYPE, kind)) for kind in range(16) if kind != socket.SOCK_STREAM)
    yield from (("socket", lib.Arg(2, lib.EQ, protocol)) for protocol in range(1, TCP))
    yield "socket", lib.Arg(2, lib.GT, TCP)
    yield "socketpair", lib.Arg(0, lib.NE, socket.AF_UNIX)
    yield from (("socketpair", masked(1, SOCKET_TYPE, kind)) for kind in range(16) if kind != socket.SOCK_STREAM)
    yield from (
        (name, masked(position, FAST_OPEN, FAST_OPEN))
        for name, position in {"sendto": 3, "sendmsg": 2, "sendmmsg": 3}.items()
    )
    yield from (("clone", masked(0, flag, flag)) for flag in NAMESPACE_FLAGS)
    yield from (("ioctl", masked(1, 0xFFFFFFFF, request)) for request in (TERMINAL_INPUT, TERMINAL_CONSOLE))
    # The limits and scheduling of the user's other processes: a worker must not slow down another. Libraries choose
    # processors and priorities for the calling thread, which is 0.
    yield from ((name, lib.Arg(0, lib.NE, 0)) for name in ("prlimit64", *SCHEDULING))
    yield "ioprio_set", lib.Arg(0, lib.NE, IOPRIO_WHO_PROCESS)
    yield "ioprio_set", lib.Arg(1, lib.NE, 0)
