"""The open trials, and all that the server saw of them."""

from trialbed_server.trials._put_in import RETRY_AFTER, Delivered, PutIn
from trialbed_server.trials._registry import (
    TrialConflict,
    TrialGone,
    TrialRefused,
    TrialRegistry,
    TrialUnknown,
)
from trialbed_server.trials._setups import Setup, Setups
from trialbed_server.trials._trial import LogBudget, OpenTrial, body_text
from trialbed_server.trials._untagged import UNTAGGED_BODY, Untagged
from trialbed_server.trials._worlds import HostedWorld

__all__ = [
    "RETRY_AFTER",
    "UNTAGGED_BODY",
    "Delivered",
    "HostedWorld",
    "LogBudget",
    "OpenTrial",
    "PutIn",
    "Setup",
    "Setups",
    "TrialConflict",
    "TrialGone",
    "TrialRefused",
    "TrialRegistry",
    "TrialUnknown",
    "Untagged",
    "body_text",
]
