"""Starts bubblewrap and carries connections to the server, and then becomes the worker inside.

``python -I -S container.py outside FD`` runs on the machine: it becomes ``bwrap``, and leaves a child that accepts the
sandbox's connections and forwards them to the server. ``container.py inside FD COMMAND...`` runs in the sandbox: it
listens where the trials' URLs point, hands that socket out, and becomes the worker. So nothing of the relay runs in the
sandbox, and no file in it leads outside. The open file ``FD`` holds the policy as JSON (see ``_container``).
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import signal
import socket
import sys
from contextlib import suppress
from threading import BoundedSemaphore, Thread
from typing import Any, NoReturn

CONNECTIONS = 64
"""Connections of a worker that are carried at once; more wait."""

CHUNK = 1 << 16
CONNECT_LIMIT = 10.0
PR_SET_PDEATHSIG = 1
KEYCTL = {"x86_64": 250, "aarch64": 219}
KEYCTL_JOIN_SESSION_KEYRING = 1
CLONE_NEWUSER = 0x10000000
MOST_NAMESPACES = "/proc/sys/user/max_user_namespaces"
NAMESPACES = ("user", "mnt", "net", "pid", "ipc", "uts")

FAILED = 120
"""The exit code if the sandbox cannot be made."""


def outside(policy: dict[str, Any]) -> NoReturn:
    """Fork the forwarder, and become bubblewrap."""
    ours, theirs = socket.socketpair()
    leave_keyring()
    users = make_users(policy["users"]) if policy["users"] else None
    parent = os.getpid()
    if os.fork() == 0:
        theirs.close()
        with suppress(BaseException):
            forward(ours, policy["server"], parent)
        os._exit(0)
    ours.close()
    inner = open_file({**policy["inside"], "link": theirs.fileno(), "report": policy["report"]})
    for descriptor in (theirs.fileno(), policy["report"], policy["hosts"], inner, *([] if users is None else [users])):
        os.set_inheritable(descriptor, True)
    places = {"@INSIDE@": str(inner), "@USERS@": str(users)}
    command = [places.get(argument, argument) for argument in policy["command"]]
    try:
        os.execv(command[0], command)  # noqa: S606 - the command is this program's own
    except OSError as error:
        fail(f"{command[0]} cannot be started: {error}")


def inside(policy: dict[str, Any], command: list[str]) -> NoReturn:
    """Hand out a socket that listens for the worker's connections, and become the worker."""
    try:
        if policy["user"] is not None:
            become(policy["user"])
        with socket.socket(fileno=policy["link"]) as link, listening(*policy["listen"]) as listener:
            socket.send_fds(link, [b"."], [listener.fileno()])
        held = check(policy["namespaces"], policy["user"])
        os.write(policy["report"], json.dumps([policy["version"], *held]).encode())
        os.close(policy["report"])
        os.execv(command[0], command)  # noqa: S606 - the command is this program's own
    except OSError as error:
        fail(f"the worker cannot be started: {error}")


def make_users(users: list[int]) -> int:
    """Make a namespace of these users, which mean the same outside, and in which there can be no further one.

    Returns:
        A descriptor of it.
    """
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        ours.close()
        with suppress(BaseException):
            made = ctypes.CDLL(None).unshare(CLONE_NEWUSER)
            theirs.send(b"x" if made else b".")
            theirs.recv(1)
            with open(MOST_NAMESPACES, "w", encoding="ascii") as file:
                file.write("0")
            theirs.send(b".")
            theirs.recv(1)
        os._exit(0)
    theirs.close()
    try:
        if ours.recv(1) != b".":
            fail("user namespaces cannot be made here")
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{child}/{name}", "w", encoding="ascii") as file:
                file.write("".join(f"{user} {user} 1\n" for user in users))
        ours.send(b".")
        if ours.recv(1) != b".":
            fail("the number of user namespaces cannot be limited")
        os.setgroups([])
        return os.open(f"/proc/{child}/ns/user", os.O_RDONLY)
    except OSError as error:
        fail(f"the users of the sandbox cannot be made: {error}")
    finally:
        ours.close()
        os.waitpid(child, 0)


def become(user: int) -> None:
    """Become another user for good: with root's, all privileges are lost."""
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens there."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    return socket.create_server((host, port), family=family, backlog=CONNECTIONS)


def check(others: dict[str, str], user: int | None) -> list[str]:
    """See that the sandbox holds; returns the mechanisms that do.

    Args:
        others: the machine's namespaces.
        user: whom this process must be outside of the sandbox; None for the user who started it, who is not root.
    """
    for name in NAMESPACES:
        if os.readlink(f"/proc/self/ns/{name}") == others[name]:
            fail(f"the sandbox does not hold: it shares the machine's {name} namespace")
    with open("/proc/self/status", encoding="utf-8") as file:
        status = {name: value.strip() for name, _, value in (line.partition(":") for line in file)}
    if status["NoNewPrivs"] != "1" or int(status["CapEff"], 16) or int(status["CapPrm"], 16):
        fail("the sandbox does not hold: the worker could gain privileges")
    if user is not None and real_user() != user:
        fail("the sandbox does not hold: the worker is another user outside of it")
    if not os.statvfs("/proc").f_flag & os.ST_RDONLY:
        fail("the sandbox does not hold: settings of the kernel could be written")
    return ["no_new_privs", f"namespaces {', '.join(NAMESPACES)}", "/proc read-only", f"uid {os.getuid()}"]


def real_user() -> int:
    """The user outside of this process's namespace that it is."""
    with open("/proc/self/uid_map", encoding="ascii") as file:
        ranges = [tuple(map(int, line.split())) for line in file]
    own = os.getuid()
    return next(there + own - here for here, there, count in ranges if here <= own < here + count)


def forward(link: socket.socket, server: list[Any], parent: int) -> None:
    """Accept the connections of a sandbox and carry each to the server, until the sandbox ends."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        return
    # The engine waits until the worker's pipes are closed: hold none of them.
    empty = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(empty, stream)
    _, descriptors, _, _ = socket.recv_fds(link, 1, 1)
    os.closerange(3, link.fileno())
    link.close()
    free = BoundedSemaphore(CONNECTIONS)
    with socket.socket(fileno=descriptors[0]) as listener:
        while True:
            free.acquire()
            connection, _ = listener.accept()
            Thread(target=carry, args=(connection, server, free), daemon=True).start()


def carry(connection: socket.socket, server: list[Any], free: BoundedSemaphore) -> None:
    """Carry one connection to the server and back, until both ends are closed."""
    try:
        with connection, socket.create_connection(tuple(server), CONNECT_LIMIT) as far:
            far.settimeout(None)
            for end in (connection, far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            back = Thread(target=pump, args=(far, connection), daemon=True)
            back.start()
            pump(connection, far)
            back.join()
    except OSError:
        return
    finally:
        free.release()


def pump(source: socket.socket, target: socket.socket) -> None:
    """Carry bytes until the source ends, and end the target's input then."""
    try:
        while data := source.recv(CHUNK):
            target.sendall(data)
    except OSError:
        # One end is gone: so that the other direction ends too.
        with suppress(OSError):
            source.shutdown(socket.SHUT_RDWR)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


def leave_keyring() -> None:
    """Join a new session keyring: no namespace has its own. Where ``keyctl`` is refused, none can be used."""
    number = KEYCTL.get(platform.machine())
    if number is not None:
        ctypes.CDLL(None).syscall(number, KEYCTL_JOIN_SESSION_KEYRING, None)


def open_file(value: Any) -> int:
    """A file without a name that holds a value as JSON."""
    descriptor = os.memfd_create("policy", 0)
    os.write(descriptor, json.dumps(value).encode())
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def fail(message: str) -> NoReturn:
    """End with a message."""
    sys.stderr.write(f"--sandbox container: {message}\n")
    raise SystemExit(FAILED)


if __name__ == "__main__":
    with open(int(sys.argv[2]), encoding="utf-8") as policy_file:
        given = json.load(policy_file)
    if sys.argv[1] == "outside":
        outside(given)
    inside(given, sys.argv[3:])
