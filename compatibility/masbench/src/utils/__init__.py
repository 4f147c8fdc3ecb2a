"""The names of MASBench's utilities."""

from trialbed_masbench import AnswerValidator, QueryLoader
from utils.printer import (
    Printer,
    get_printer,
    print_error,
    print_header,
    print_info,
    print_progress,
    print_query_header,
    print_result,
    print_step,
    print_success,
    print_summary,
    print_warning,
)
from utils.tool_utils import sanitize_param_name, sanitize_tool_name

__all__ = [
    "AnswerValidator",
    "Printer",
    "QueryLoader",
    "get_printer",
    "print_error",
    "print_header",
    "print_info",
    "print_progress",
    "print_query_header",
    "print_result",
    "print_step",
    "print_success",
    "print_summary",
    "print_warning",
    "sanitize_param_name",
    "sanitize_tool_name",
]
