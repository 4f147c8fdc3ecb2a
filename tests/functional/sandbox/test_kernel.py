"""What a worker in a sandbox can do to the kernel's settings and to its siblings, and who it is outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from trialbed.contracts import Sandbox
from trialbed_plugins.executors.sandbox import ServerAddress, launch

NOWHERE = ServerAddress("127.0.0.1", 65535)

WRITABLE = """
import json, os
def opened(path):
    try:
        os.close(os.open(path, os.O_WRONLY))
    except OSError:
        return False
    return True
settings = ["/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/acpi", "/proc/scsi"]
files = [os.path.join(place, name) for top in settings for place, _, names in os.walk(top) for name in names]
files += ["/proc/mtrr", "/proc/sysrq-trigger", "/proc/latency_stats", "/proc/timer_stats", "/proc/slabinfo"]
open("made", "w").close()
print(json.dumps({"uid": os.getuid(), "writable": [path for path in files if opened(path)]}))
"""

SCHEDULING = """
import ctypes, json, os, platform, time
LIBC = ctypes.CDLL(None, use_errno=True)
NUMBERS = {"x86_64": (251, 314, 142), "aarch64": (30, 274, 118)}[platform.machine()]
def call(number, *arguments):
    return LIBC.syscall(number, *(ctypes.c_long(argument) for argument in arguments)) == 0
def tried(attempt, who):
    try:
        return attempt(who) is not False
    except OSError:
        return False
attempts = {
    "sched_setaffinity": lambda who: os.sched_setaffinity(who, os.sched_getaffinity(0)),
    "sched_setscheduler": lambda who: os.sched_setscheduler(who, os.SCHED_BATCH, os.sched_param(0)),
    "sched_setparam": lambda who: os.sched_setparam(who, os.sched_param(0)),
    "ioprio_set": lambda who: call(NUMBERS[0], 1, who, 3 << 13),
    "ioprio_set of a group": lambda who: call(NUMBERS[0], 2, os.getpgrp() if who else 0, 3 << 13),
}
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(0)
found = {who: {name: tried(attempt, pid) for name, attempt in attempts.items()} for who, pid in
         {"own": 0, "other": child}.items()}
os.kill(child, 9)
print(json.dumps(found))
"""


def run_in(mode: str, code: str, folder: Path) -> Any:
    """The JSON that code prints which runs as a worker in this sandbox; ``none`` for none."""
    own = folder / "workers" / "worker"
    own.mkdir(parents=True)
    command = [sys.executable, "-I", "-S", "-c", code]
    sandbox = None if mode == "none" else Sandbox(mode)
    with launch(command, {}, own, sandbox, NOWHERE) as launched:
        done = subprocess.run(
            launched.command,
            env=dict(launched.environment),
            cwd=own,
            pass_fds=launched.descriptors,
            capture_output=True,
            timeout=60,
            text=True,
        )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_no_setting_of_the_kernel_can_be_written_and_root_is_another_user(sandbox: str, tmp_path: Path) -> None:
    found = run_in(sandbox, WRITABLE, tmp_path)
    assert found["writable"] == []
    owner = (tmp_path / "workers" / "worker" / "made").stat().st_uid
    assert owner == (65534 if os.geteuid() == 0 else os.geteuid())
    assert found["uid"] == (65534 if sandbox == "container" else owner)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may write the kernel's settings without a sandbox")
def test_root_could_write_them_without_a_sandbox(tmp_path: Path) -> None:
    assert "/proc/sys/kernel/core_pattern" in run_in("none", WRITABLE, tmp_path)["writable"]


def test_a_worker_cannot_slow_another_of_the_same_user(sandbox: str, tmp_path: Path) -> None:
    if sandbox == "container":
        pytest.skip("its siblings are in other namespaces, where it has no name for them")
    assert run_in("none", SCHEDULING, tmp_path / "none")["other"]["sched_setaffinity"]
    found = run_in(sandbox, SCHEDULING, tmp_path / "held")
    assert not any(found["other"].values()), found
    assert found["own"]["sched_setaffinity"]
    assert found["own"]["ioprio_set"]
