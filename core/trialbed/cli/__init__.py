"""The command line: ``bench``, ``trialbed`` and ``python -m trialbed``.

Nothing heavy is imported before a command needs it: each command is a module of its own, loaded by name.
"""

from trialbed.cli._group import cli
from trialbed.cli._main import main

__all__ = ["cli", "main"]
