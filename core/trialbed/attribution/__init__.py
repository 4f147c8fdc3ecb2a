"""Attribution: for each gold call of a trial, whether its result reached the user, or where it was lost."""

from trialbed.attribution._documents import attribute_documents
from trialbed.attribution._evidence import Uses
from trialbed.attribution._reliance import relied_on
from trialbed.attribution._stages import ENDED, STAGES, AttributedCall, Stage, attribute
from trialbed.attribution._waterfall import USED, percentages, waterfall

__all__ = [
    "ENDED",
    "STAGES",
    "USED",
    "AttributedCall",
    "Stage",
    "Uses",
    "attribute",
    "attribute_documents",
    "percentages",
    "relied_on",
    "waterfall",
]
