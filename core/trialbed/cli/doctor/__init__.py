"""``bench doctor``: what it looks at is in ``_checks``."""

from trialbed.cli.doctor._command import command

__all__ = ["command"]
