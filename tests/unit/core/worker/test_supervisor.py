"""The parent of a worker."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import pytest
from support.cases import for_each
from support.processes import wait_until_ended

from trialbed.worker._supervisor import SUPERVISED, descendants, supervised_command

pytestmark = pytest.mark.skipif(not SUPERVISED, reason="only Linux has subreapers")


def start(code):
    command = supervised_command([sys.executable, "-I", "-S", "-c", "import os, signal, sys\n" + code])
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


@for_each(
    ("code", "status"),
    [
        ("sys.exit(7)", 7),
        ("pass", 0),
        ("os.kill(os.getpid(), signal.SIGSEGV)", -signal.SIGSEGV),
        ("os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("os.killpg(0, signal.SIGTERM)", -signal.SIGTERM),
        ("os.kill(os.getppid(), signal.SIGTERM); sys.exit(8)", 8),
    ],
)
def test_the_supervisor_ends_as_the_worker_does(code, status):
    with start(code) as supervisor:
        assert supervisor.wait(60) == status


def test_a_command_that_cannot_be_run_is_named():
    command = supervised_command(["/nowhere/python"])
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as supervisor:
        assert supervisor.wait(60) == 126
        assert b"/nowhere/python cannot be started" in supervisor.stderr.read()


@for_each("end", ["close the input", "kill the worker", "let the worker end"])
def test_all_that_the_worker_started_ends(end):
    code = """
ours, theirs = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        os.write(theirs, str(os.getpid()).encode())
        os.closerange(0, 64)
        signal.pause()
    os._exit(0)
os.wait()
print(os.read(ours, 20).decode(), flush=True)
os.read(0, 1)
"""
    with start(code) as supervisor:
        daemon = psutil.Process(int(supervisor.stdout.readline()))
        (worker,) = {process.pid for process in psutil.Process(supervisor.pid).children()} - {daemon.pid}
        assert descendants(supervisor.pid) in ([worker, daemon.pid], [daemon.pid, worker])
        if end == "close the input":
            supervisor.stdin.close()
        elif end == "kill the worker":
            os.kill(worker, signal.SIGKILL)
        else:
            supervisor.stdin.write(b"x")
            supervisor.stdin.flush()
        supervisor.wait(60)
    assert not daemon.is_running()
    assert not psutil.pid_exists(worker)


def test_a_worker_ends_with_its_supervisor():
    with start("print(os.getpid(), flush=True); signal.pause()") as supervisor:
        worker = psutil.Process(int(supervisor.stdout.readline()))
        supervisor.kill()
    wait_until_ended([worker])
