"""Trialbed's functions under the names that MASBench has for them."""

from trialbed.answers import api_call_score as calculate_api_call_score
from trialbed.answers import extract_called_apis as extract_called_apis_from_answer_details
from trialbed_selection import ToolSelector
from trialbed_selection import safe_name as sanitize_tool_name

__all__ = [
    "ToolSelector",
    "calculate_api_call_score",
    "extract_called_apis_from_answer_details",
    "sanitize_tool_name",
]
