"""``bench show``."""

from trialbed.cli.show._command import command

__all__ = ["command"]
