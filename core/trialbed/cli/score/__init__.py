"""``bench score``: ``_command`` dispatches, ``_files`` scores files of conversations."""

from trialbed.cli.score._command import command

__all__ = ["command"]
