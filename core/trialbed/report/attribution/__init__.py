"""Attribution: for each expected call of a trial, whether its result reached the user, or where it was lost."""

from trialbed.report.attribution._stages import (
    BY_FRAMEWORK,
    ENDED,
    OF_THE_OFFER,
    STAGES,
    AttributedCall,
    Stage,
    attribute,
)
from trialbed.report.attribution._trial import attribute_trial, unrequested_calls
from trialbed.report.attribution._waterfall import LOSERS, LOST_BY, USED, Attribution, CallCounter, FirstLoss

__all__ = [
    "BY_FRAMEWORK",
    "ENDED",
    "LOSERS",
    "LOST_BY",
    "OF_THE_OFFER",
    "STAGES",
    "USED",
    "AttributedCall",
    "Attribution",
    "CallCounter",
    "FirstLoss",
    "Stage",
    "attribute",
    "attribute_trial",
    "unrequested_calls",
]
