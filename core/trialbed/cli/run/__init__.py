"""``bench run``: its options, and the progress that it shows (``_progress``)."""

from trialbed.cli.run._command import command

__all__ = ["command"]
