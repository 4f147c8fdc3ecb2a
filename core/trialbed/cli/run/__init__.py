"""The command ``bench run``, with its options and its progress (``_progress``)."""

from trialbed.cli.run._command import command

__all__ = ["command"]
