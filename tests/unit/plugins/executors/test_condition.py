"""The condition of a worker."""

from __future__ import annotations

import os
import sys

from support.cases import for_each

from trialbed_plugins.executors._processes import DESCRIPTORS, THREADS, ProcessCondition

BEFORE = ProcessCondition(descriptors=10, threads=2, limits=b"64", folder="/here")


def test_a_process_can_be_read():
    condition = ProcessCondition.read(os.getpid())
    assert condition.folder == os.getcwd()
    assert condition.descriptors > 2
    assert condition.threads > 0
    assert (condition.limits is None) == (sys.platform != "linux")
    assert condition.worse(condition) == ""


@for_each(
    ("later", "reason"),
    [
        (ProcessCondition(10 + DESCRIPTORS, 2 + THREADS, b"64", "/here"), ""),
        (ProcessCondition(11 + DESCRIPTORS, 2, b"64", "/here"), "it has 75 open descriptors, and had 10"),
        (ProcessCondition(10, 3 + THREADS, b"64", "/here"), "it has 67 threads, and had 2"),
        (ProcessCondition(10, 2, b"32", "/here"), "its resource limits were changed"),
        (ProcessCondition(10, 2, b"64", "/there"), "its working directory was changed or removed"),
        (ProcessCondition(None, None, None, "/here"), ""),
    ],
)
def test_what_makes_it_unfit(later, reason):
    assert BEFORE.worse(later) == reason


def test_what_could_not_be_read_makes_nothing_unfit():
    unknown = ProcessCondition(None, None, None, None)
    assert unknown.worse(BEFORE) == ""
