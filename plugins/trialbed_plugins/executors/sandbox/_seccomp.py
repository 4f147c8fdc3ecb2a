"""The filter of system calls for ``--sandbox process`` (libseccomp, through pyseccomp)."""

from __future__ import annotations

import errno
import socket
import tempfile
from collections.abc import Iterator
from functools import cache
from typing import Any

REFUSED = (
    # Other processes: their memory, their files, their limits.
    *("kcmp", "pidfd_getfd", "pidfd_send_signal", "process_madvise", "process_mrelease"),
    *("process_vm_readv", "process_vm_writev", "ptrace", "setpriority"),
    # Objects that the processes of a user share beside files.
    *("add_key", "keyctl", "request_key"),
    *("mq_open", "mq_unlink", "msgget", "semget", "shmat", "shmget"),
    # File systems and namespaces.
    *("chroot", "fsconfig", "fsmount", "fsopen", "fspick", "mount", "mount_setattr", "move_mount", "open_tree"),
    *("pivot_root", "setns", "umount", "umount2", "unshare"),
    # What Landlock does not see: the attributes of files that can be read, and files by their handle.
    *("chmod", "chown", "fchmod", "fchmodat", "fchmodat2", "fchown", "fchownat", "lchown"),
    *("fremovexattr", "fsetxattr", "lremovexattr", "lsetxattr", "removexattr", "setxattr", "setxattrat"),
    *("futimesat", "utime", "utimensat", "utimes"),
    *("name_to_handle_at", "open_by_handle_at"),
    # What reaches deep into the kernel, or does what other calls do unseen.
    *("bpf", "fanotify_init", "io_uring_enter", "io_uring_register", "io_uring_setup", "perf_event_open"),
    *("userfaultfd",),
    # The machine.
    *("acct", "adjtimex", "clock_adjtime", "clock_settime", "delete_module", "finit_module", "init_module"),
    *("ioperm", "iopl", "kexec_file_load", "kexec_load", "quotactl", "quotactl_fd", "reboot", "sethostname"),
    *("setdomainname", "settimeofday", "swapoff", "swapon", "syslog", "vhangup"),
    # Servers: a worker only connects.
    *("accept", "accept4", "listen"),
)
"""System calls that a worker does not need. Those that a kernel or an architecture does not have are left out."""

NAMESPACE_FLAGS = (0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000, 0x00020000)
"""``CLONE_NEW*``."""

FAST_OPEN = 0x20000000
"""``MSG_FASTOPEN``, with which sending connects: Landlock would not see it."""

TERMINAL_INPUT, TERMINAL_CONSOLE = 0x5412, 0x541C
SOCKET_TYPE = 0xF
SCHEDULING = ("sched_setaffinity", "sched_setattr", "sched_setparam", "sched_setscheduler")
IOPRIO_WHO_PROCESS = 1
TCP = 6


@cache
def program(family: int) -> bytes:
    """The filter, as the kernel takes it (BPF).

    Args:
        family: of the addresses that a worker may connect to, ``AF_INET`` or ``AF_INET6``.

    Raises:
        ImportError: pyseccomp is not installed, or libseccomp is not there.
    """
    import pyseccomp

    filter_ = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
    for name in REFUSED:
        # A call that this libseccomp does not know has a negative number.
        if pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name) >= 0:
            filter_.add_rule(pyseccomp.ERRNO(errno.EPERM), name)
    # Its flags are in memory, where a filter cannot look; the C library then takes clone.
    filter_.add_rule(pyseccomp.ERRNO(errno.ENOSYS), "clone3")
    for name, *arguments in _conditions(pyseccomp, family):
        filter_.add_rule(pyseccomp.ERRNO(errno.EPERM), name, *arguments)
    with tempfile.TemporaryFile() as file:
        filter_.export_bpf(file)
        file.seek(0)
        return file.read()


def _conditions(lib: Any, family: int) -> Iterator[tuple[Any, ...]]:
    """``(call, argument...)`` for each case of a call that is refused only with certain arguments."""

    def masked(position: int, mask: int, value: int) -> Any:
        return lib.Arg(position, lib.MASKED_EQ, mask, value)

    # TCP over one family of addresses, and pairs of connected UNIX sockets, as event loops use them. The kernel takes
    # the lower half of an argument, so that a comparison for equality could be dodged: all else is refused.
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
    # The limits and the scheduling of other processes of the same user: one worker must not slow another.
    # Libraries choose processors and priorities for the thread that calls them, which is 0.
    yield from ((name, lib.Arg(0, lib.NE, 0)) for name in ("prlimit64", *SCHEDULING))
    yield "ioprio_set", lib.Arg(0, lib.NE, IOPRIO_WHO_PROCESS)
    yield "ioprio_set", lib.Arg(1, lib.NE, 0)
