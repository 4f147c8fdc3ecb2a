"""Trials: which are open, and what the server saw of them."""

from trialbed_server.trials._registry import (
    TrialConflict,
    TrialGone,
    TrialRefused,
    TrialRegistry,
    TrialRequired,
    TrialUnknown,
)
from trialbed_server.trials._trial import LogBudget, ModelRecording, Recording, Trial, body_text
from trialbed_server.trials._untagged import UNTAGGED_BODY, Untagged

__all__ = [
    "UNTAGGED_BODY",
    "LogBudget",
    "ModelRecording",
    "Recording",
    "Trial",
    "TrialConflict",
    "TrialGone",
    "TrialRefused",
    "TrialRegistry",
    "TrialRequired",
    "TrialUnknown",
    "Untagged",
    "body_text",
]
