"""The old address of ``python -m trialbed_adapter_lab``; the next release removes it."""

from __future__ import annotations

import sys
from runpy import run_module

from trialbed._moved import moved_module

NEW = "trialbed_adapter_lab"

if __name__ == "__main__":
    # DeprecationWarnings are hidden by default, and this is for the person at the terminal.
    sys.stderr.write(f"python -m trialbed.conformance is deprecated; run python -m {NEW} instead\n")
    try:
        moved_module("trialbed.conformance", NEW)
    except ImportError as error:
        sys.stderr.write(f"{error}\n")
        sys.exit(2)
    run_module(NEW, run_name="__main__", alter_sys=True)
