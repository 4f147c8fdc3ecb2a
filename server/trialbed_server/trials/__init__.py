"""Trials: which are open, and what the server saw of them."""

from trialbed_server.trials._log import LogBudget, body_text
from trialbed_server.trials._registry import TrialConflict, TrialGone, TrialRegistry, TrialUnknown
from trialbed_server.trials._trial import Recording, Trial

__all__ = [
    "LogBudget",
    "Recording",
    "Trial",
    "TrialConflict",
    "TrialGone",
    "TrialRegistry",
    "TrialUnknown",
    "body_text",
]
