"""``python -m trialbed.worker --framework NAME``."""

from __future__ import annotations

import argparse
import os
import sys

from trialbed.worker._loop import serve


def main() -> int:
    """Read the arguments and serve; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m trialbed.worker", description="Run trials of one framework.")
    parser.add_argument("--framework", required=True, help="the driver's name, as `bench plugins` shows it")
    parser.add_argument("--command", metavar="JSON", help="a program to run instead of an adapter")
    arguments = parser.parse_args()
    return serve(arguments.framework, arguments.command)


if __name__ == "__main__":
    code = main()
    sys.stderr.flush()
    # Threads that a framework left running must not keep the process of a finished worker alive.
    os._exit(code)
