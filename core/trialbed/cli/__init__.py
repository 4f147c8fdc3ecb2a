"""The command line: ``bench``, ``trialbed`` and ``python -m trialbed``.

Nothing heavy is imported before a command needs it. Each command is a module that is loaded by its name. The modules
next to them hold what several commands share.
"""

from trialbed.cli._group import cli
from trialbed.cli._main import main

__all__ = ["cli", "main"]
