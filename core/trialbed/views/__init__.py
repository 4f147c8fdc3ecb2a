"""Tables of text, for a terminal, Markdown and CSV."""

from trialbed.views._columns import Row, compact, print_columns, printable, widened
from trialbed.views._sheets import UNKNOWN, Sheet, csv_text, estimate, markdown, number, print_sheets, write_text

__all__ = [
    "UNKNOWN",
    "Row",
    "Sheet",
    "compact",
    "csv_text",
    "estimate",
    "markdown",
    "number",
    "print_columns",
    "print_sheets",
    "printable",
    "widened",
    "write_text",
]
