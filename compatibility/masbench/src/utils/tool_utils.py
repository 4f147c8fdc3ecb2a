"""The names that MASBench's agents take from its tool utilities."""

from trialbed_masbench import sanitize_param_name, sanitize_tool_name

__all__ = ["sanitize_param_name", "sanitize_tool_name"]
