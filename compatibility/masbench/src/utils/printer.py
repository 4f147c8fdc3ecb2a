"""The names of MASBench's printer."""

from trialbed_masbench.printing import (
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

__all__ = [
    "Printer",
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
]
