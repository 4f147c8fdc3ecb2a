"""Views of fidelity reports: tables for the terminal, and Markdown."""

from __future__ import annotations

from trialbed_adapter_lab.fidelity.views._tables import (
    long_tables,
    markdown,
    place_report,
    report_tables,
    write_table,
)

__all__ = ["long_tables", "markdown", "place_report", "report_tables", "write_table"]
