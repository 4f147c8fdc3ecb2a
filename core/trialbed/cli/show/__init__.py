"""``bench show``."""

from trialbed.cli.show._command import command
from trialbed.cli.show._naming import named_attempt
from trialbed.cli.show._trial import trial_text

__all__ = ["command", "named_attempt", "trial_text"]
