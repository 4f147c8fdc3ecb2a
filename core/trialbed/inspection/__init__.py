"""One trial as somebody looks at it: what was asked and answered in which order, and what went wrong.

``bench show`` and the pages stand on this, so that both say the same.
"""

from trialbed.inspection._exchanges import Exchange, Message, ModelExchange, ToolExchange, exchanges
from trialbed.inspection._problems import TrialProblem, api_name, as_text, problems

__all__ = [
    "Exchange",
    "Message",
    "ModelExchange",
    "ToolExchange",
    "TrialProblem",
    "api_name",
    "as_text",
    "exchanges",
    "problems",
]
