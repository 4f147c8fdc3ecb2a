"""Trialbed's functions under the names that MASBench has for them."""

from trialbed_selection import ToolSelector
from trialbed_selection import safe_name as sanitize_tool_name

__all__ = [
    "ToolSelector",
    "sanitize_tool_name",
]
