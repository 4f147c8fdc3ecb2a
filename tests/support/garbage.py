"""The search for garbage in a process of tests, where it passes over hundreds of thousands of objects that stay."""

from __future__ import annotations

import atexit
import gc
import os
import sys

MADE = 4_000
"""Objects that are made, beyond those that are gone, before garbage is searched for."""


def leave_out_what_stays() -> None:
    """Search for garbage now, and never again among the objects that are left: a search takes a quarter of a second."""
    gc.collect()
    gc.freeze()


def search_seldom() -> None:
    """Begin to search, but for none among the objects of now, nor as often as for programs that make little."""
    gc.freeze()
    gc.set_threshold(MADE)
    gc.enable()
    gc.get_freeze_count = lambda: 1  # a run asks whether there are any: to count a million takes 30 ms


def end_without_search() -> None:
    """Let this process end as it does otherwise, but free no object one by one: that takes seconds."""
    atexit.register(_end)


def _end() -> None:
    atexit.unregister(_end)
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)
