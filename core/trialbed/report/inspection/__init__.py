"""One trial as it is looked at: its requests and answers in their order, and its problems.

``bench show`` and the pages both use this, so that they say the same.
"""

from trialbed.report.inspection._exchanges import Exchange, ModelExchange, RequestMessage, ToolExchange, exchanges
from trialbed.report.inspection._expected import expected_lines
from trialbed.report.inspection._grounds import BY_EXPECTATIONS, detail_text, expectation_lines, reason_text
from trialbed.report.inspection._problems import (
    TrialProblem,
    api_name,
    as_text,
    end_text,
    fault_words,
    problem_words,
    problems,
)

__all__ = [
    "BY_EXPECTATIONS",
    "Exchange",
    "ModelExchange",
    "RequestMessage",
    "ToolExchange",
    "TrialProblem",
    "api_name",
    "as_text",
    "detail_text",
    "end_text",
    "exchanges",
    "expectation_lines",
    "expected_lines",
    "fault_words",
    "problem_words",
    "problems",
    "reason_text",
]
