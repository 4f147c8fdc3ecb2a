"""``bench doctor``; its checks are in ``_checks``."""

from trialbed.cli.doctor._command import command

__all__ = ["command"]
