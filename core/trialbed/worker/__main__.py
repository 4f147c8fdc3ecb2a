"""``python -m trialbed.worker --framework NAME``."""

from __future__ import annotations

import argparse
import ctypes
import faulthandler
import os
import signal
import sys

from trialbed.worker._loop import serve

PR_SET_CHILD_SUBREAPER = 36
"""From ``<linux/prctl.h>``, Linux 3.4."""


def main() -> int:
    """Read the arguments and serve; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m trialbed.worker", description="Run trials of one framework.")
    parser.add_argument("--framework", required=True, help="the driver's name, as `bench plugins` shows it")
    framework = parser.parse_args().framework
    if hasattr(signal, "SIGUSR1"):
        # The executor asks where a worker hangs before it kills it.
        faulthandler.register(signal.SIGUSR1, file=os.dup(2))
    become_subreaper()
    return serve(framework)


def become_subreaper() -> None:
    """Become the parent of descendants whose own parent ends, so that they can still be found as descendants.

    Only Linux can; elsewhere these processes are found by the mark in their environment alone.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    # Threads that a framework left running must not keep the process of a finished worker alive.
    os._exit(code)
