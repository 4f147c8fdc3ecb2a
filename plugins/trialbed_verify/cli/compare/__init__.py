"""``bench compare``: its options, and what makes a comparison impossible or failed (``_checks``)."""

from trialbed_verify.cli.compare._command import command

__all__ = ["command"]
