"""Families of processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import pytest

from trialbed.worker import WORKER_MARK
from trialbed_plugins.executors import _processes as processes

FAMILY = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; hoard = bytearray(80 << 20); print('up', flush=True);"
                          "time.sleep(600)"], start_new_session=True)
time.sleep(600)
"""


@pytest.fixture
def family():
    """A process with a child of 80 MiB in a session of its own."""
    environment = os.environ | {WORKER_MARK: f"mark-{os.getpid()}"}
    command = [sys.executable, "-c", FAMILY]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True, env=environment) as process:
        assert process.stdout.readline() == b"up\n"
        yield process
        processes.end_marked(f"mark-{os.getpid()}")


def test_descendants_are_found_and_weighed(family):
    (child,) = processes.descendants(family.pid)
    assert child.ppid() == family.pid
    assert processes.family(family.pid) == [family.pid, child.pid]
    assert processes.resident_bytes([family.pid, child.pid]) > processes.resident_bytes([child.pid]) > 80 << 20


def test_descendants_are_found_without_the_linux_way(family, monkeypatch):
    monkeypatch.setattr(processes.sys, "platform", "other")
    assert len(processes.descendants(family.pid)) == 1


def test_a_family_is_ended_though_a_child_left_the_group(family):
    (child,) = processes.descendants(family.pid)
    processes.end_family(family.pid)
    assert family.wait(60) == -signal.SIGKILL
    psutil.wait_procs([child], timeout=60)
    assert not child.is_running() or child.status() == psutil.STATUS_ZOMBIE


def test_orphans_are_found_by_their_mark(family):
    (child,) = processes.descendants(family.pid)
    family.kill()
    family.wait(60)
    assert processes.marked(f"mark-{os.getpid()}") == [child]
    processes.end_marked(f"mark-{os.getpid()}")
    assert processes.marked(f"mark-{os.getpid()}") == []


def test_what_is_gone_has_no_family():
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait(60)
    assert processes.descendants(process.pid) == []
    assert processes.family(process.pid) == [process.pid]
    assert processes.resident_bytes([process.pid]) == 0
    processes.end_family(process.pid)
