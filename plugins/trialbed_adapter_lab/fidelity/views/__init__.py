"""Views of fidelity reports: tables for the terminal, and Markdown."""

from __future__ import annotations

from trialbed_adapter_lab.fidelity.views._behaviour import behaviour_rows
from trialbed_adapter_lab.fidelity.views._cells import value
from trialbed_adapter_lab.fidelity.views._errors import error_rows
from trialbed_adapter_lab.fidelity.views._tables import markdown, page_parts, write_table
from trialbed_adapter_lab.fidelity.views._wire import prompt_rows

__all__ = [
    "behaviour_rows",
    "error_rows",
    "markdown",
    "page_parts",
    "prompt_rows",
    "value",
    "write_table",
]
