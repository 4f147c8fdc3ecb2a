"""Give up privileges with Landlock, seccomp and another user id, and then become the worker.

``python -I -S _confine.py FD COMMAND...``: the open file ``FD`` contains the policy as JSON (see ``sandbox``). The
active mechanisms are written to the descriptor in the policy before any code of the worker is loaded.
"""

from __future__ import annotations

import base64
import ctypes
import errno
import json
import os
import resource
import socket
import struct
import sys
from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

LIBC = ctypes.CDLL(None, use_errno=True)

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""Landlock's system calls. Their numbers are the same on every architecture."""

VERSION = 1
"""Asks ``CREATE_RULESET`` for the ABI."""

PATH_BENEATH, NET_PORT = 1, 2
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
FILES_BY_ABI = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF, 5: 0xFFFF}
"""All file rights that an ABI can restrict. Later ABIs use the rights of 5."""

ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE
"""The rights that a rule for something other than a folder may give."""

DEVICE_CONTROL = 1 << 15
BIND_TCP, CONNECT_TCP = 1, 2
NETWORK_ABI, SCOPES_ABI = 4, 6
ABSTRACT_SOCKETS, SIGNALS = 1, 2

RIGHTS = {
    "read": EXECUTE | READ_FILE | READ_DIR,
    "list": READ_DIR,
    "device": READ_FILE | WRITE_FILE | TRUNCATE,
    "write": FILES_BY_ABI[5] & ~DEVICE_CONTROL,
}

PR_SET_KEEPCAPS, PR_SET_SECCOMP, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT = 8, 22, 24, 38, 47
PR_CAP_AMBIENT_RAISE, SECCOMP_MODE_FILTER, CAPABILITY_VERSION = 2, 2, 0x20080522
CAP_DAC_READ_SEARCH = 2

FAILED = 120
"""The exit code if the sandbox cannot be created."""


def main(arguments: list[str]) -> NoReturn:
    with open(int(arguments[0]), encoding="utf-8") as file:
        policy = json.load(file)
    try:
        held = confine(policy)
        check(policy)
    except OSError as error:
        fail(f"the sandbox cannot be made: {error}")
    os.write(policy["report"], json.dumps(held).encode())
    os.close(policy["report"])
    become(arguments[1:])


def confine(policy: Mapping[str, Any]) -> list[str]:
    """Give up the rights in the policy. Returns the active mechanisms."""
    abi = LIBC.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), VERSION)
    if abi < NETWORK_ABI:
        fail(f"the kernel's Landlock cannot restrict the network (ABI {abi}, {NETWORK_ABI} is needed)")
    ruleset = landlock(abi, policy["files"], policy["port"])
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if policy["user"] is not None:
        switch_user(**policy["user"])
    check_result(LIBC.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
    check_result(LIBC.syscall(RESTRICT_SELF, ruleset, 0), "Landlock")
    os.close(ruleset)
    seccomp(base64.b64decode(policy["seccomp"]))
    status = own_status()
    if status["NoNewPrivs"] != "1" or status["Seccomp"] != "2":
        fail("no_new_privs or seccomp does not hold")
    held = ["no_new_privs", f"Landlock ABI {abi}", "seccomp", f"uid {os.getuid()}"]
    capabilities = int(status["CapEff"], 16)
    return [*held, f"capabilities {capabilities:#x}"] if capabilities else held


def landlock(abi: int, files: Mapping[str, Iterable[str]], port: int) -> int:
    """Create a ruleset that allows these files and connections to this TCP port. Enforcing it is a second step."""
    handled = FILES_BY_ABI[min(abi, max(FILES_BY_ABI))]
    scopes = ABSTRACT_SOCKETS | SIGNALS if abi >= SCOPES_ABI else 0
    attributes = struct.pack("QQQ", handled, BIND_TCP | CONNECT_TCP, scopes)
    size = ctypes.c_size_t(24 if abi >= SCOPES_ABI else 16)
    ruleset = check_result(LIBC.syscall(CREATE_RULESET, attributes, size, 0), "Landlock")
    for right, paths in files.items():
        for path in paths:
            add_path(ruleset, path, RIGHTS[right] & handled)
    rule = struct.pack("QQ", CONNECT_TCP, port)
    check_result(LIBC.syscall(ADD_RULE, ruleset, NET_PORT, rule, 0), f"Landlock's rule for port {port}")
    return ruleset


def add_path(ruleset: int, path: str, rights: int) -> None:
    """Allow a path and everything below it. Missing paths need no rule."""
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not os.path.isdir(path):
            rights &= ON_FILES
        rule = struct.pack("=Qi", rights, opened)
        check_result(LIBC.syscall(ADD_RULE, ruleset, PATH_BENEATH, rule, 0), f"Landlock's rule for {path}")
    finally:
        os.close(opened)


def switch_user(uid: int, gid: int, *, read_any: bool) -> None:
    """Become another user without capabilities, optionally except the right to read all files."""
    kept = CAP_DAC_READ_SEARCH if read_any else None
    for capability in range(64):
        # This stops after the last capability of this kernel. Without CAP_SETPCAP, there is nothing to drop.
        if capability != kept and LIBC.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break
    check_result(LIBC.prctl(PR_SET_KEEPCAPS, int(read_any), 0, 0, 0), "keeping a capability")
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    if kept is not None:
        mask = 1 << kept
        header, data = struct.pack("Ii", CAPABILITY_VERSION, 0), struct.pack("6I", mask, mask, mask, 0, 0, 0)
        check_result(LIBC.capset(header, data), "dropping capabilities")
        check_result(LIBC.prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, kept, 0, 0), "keeping CAP_DAC_READ_SEARCH")


def seccomp(program: bytes) -> None:
    instructions = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(instructions))
    check_result(LIBC.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, header, 0, 0), "seccomp")


def check(policy: Mapping[str, Any]) -> None:
    """Check that the sandbox is effective and that the interpreter is readable in it."""
    for path in policy["needed"]:
        # If its interpreter or library were unreadable, a virtual environment would use another one's.
        try:
            os.close(os.open(path, os.O_RDONLY))
        except OSError as error:
            fail(f"a worker could not read {path}: {error.strerror}")
    for what, attempt in {"read every folder": read_root, "use UDP": use_udp}.items():
        if attempt():
            fail(f"the sandbox does not hold: a worker could {what}")
    if can_connect(policy["family"], policy["port"] % 65535 + 1):
        fail("the sandbox does not hold: a worker could connect to other ports")


def read_root() -> bool:
    try:
        return bool(os.listdir("/"))
    except PermissionError:
        return False


def use_udp() -> bool:
    try:
        socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
    except PermissionError:
        return False
    return True


def can_connect(family: int, port: int) -> bool:
    """Return whether the kernel allows a connection attempt to this port."""
    with socket.socket(family, socket.SOCK_STREAM) as connection:
        connection.setblocking(False)
        host = "::1" if family == socket.AF_INET6 else "127.0.0.1"
        return connection.connect_ex((host, port)) != errno.EACCES


def own_status() -> dict[str, str]:
    with open("/proc/self/status", encoding="utf-8") as file:
        return {name: value.strip() for name, _, value in (line.partition(":") for line in file)}


def check_result(result: int, what: str) -> int:
    """Return the result of a C library call.

    Raises:
        OSError: the call failed.
    """
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return int(result)


def become(command: list[str]) -> NoReturn:
    try:
        os.execv(command[0], command)  # noqa: S606 - the command is this program's own
    except OSError as error:
        fail(f"{command[0]} cannot be started in the sandbox: {error}")


def fail(message: str) -> NoReturn:
    sys.stderr.write(f"--sandbox: {message}\n")
    raise SystemExit(FAILED)


if __name__ == "__main__":
    main(sys.argv[1:])
