"""``bench score``: ``_command`` dispatches, ``_files`` scores files of conversations."""

from trialbed_evaluation.score._command import command

__all__ = ["command"]
