"""``bench verify``: what is sent where (``_setup``), its progress, and what it tells in the end (``_report``)."""

from trialbed_verify.cli.verify._command import command

__all__ = ["command"]
