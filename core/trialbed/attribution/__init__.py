"""Attribution: for each gold call of a trial, whether its result reached the user, or where it was lost."""

from trialbed.attribution._documents import add_attribution, attribute_documents, attribute_trial
from trialbed.attribution._evidence import Uses
from trialbed.attribution._reliance import relied_on
from trialbed.attribution._stages import BY_FRAMEWORK, ENDED, OF_THE_OFFER, STAGES, AttributedCall, Stage, attribute
from trialbed.attribution._telling import last_turn, replaced, said, was_told
from trialbed.attribution._waterfall import USED, percentages, waterfall

__all__ = [
    "BY_FRAMEWORK",
    "ENDED",
    "OF_THE_OFFER",
    "STAGES",
    "USED",
    "AttributedCall",
    "Stage",
    "Uses",
    "add_attribution",
    "attribute",
    "attribute_documents",
    "attribute_trial",
    "last_turn",
    "percentages",
    "relied_on",
    "replaced",
    "said",
    "was_told",
    "waterfall",
]
