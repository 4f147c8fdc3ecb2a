"""``bench verify``: its options (``_setup``), progress and report."""

from trialbed_verify.cli.verify._command import command

__all__ = ["command"]
