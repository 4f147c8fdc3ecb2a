"""Keeping daemonised descendants in the family."""

from __future__ import annotations

import ctypes
import sys

PR_SET_CHILD_SUBREAPER = 36
"""From ``<linux/prctl.h>``, Linux 3.4."""


def adopt_orphans() -> bool:
    """Make this process the parent of descendants whose own parent ends, so that none gets out of sight.

    Returns:
        Whether the system can; elsewhere descendants are found by the mark in their environment alone.
    """
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    return bool(libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
