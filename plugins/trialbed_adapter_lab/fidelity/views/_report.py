"""A fidelity report for a terminal, and as a part of a page."""

from __future__ import annotations

from typing import TextIO

from trialbed import views
from trialbed_adapter_lab.fidelity import FidelityReport
from trialbed_adapter_lab.fidelity.views._tables import long_tables, report_tables

BEGIN, END = "<!-- measured: fidelity -->", "<!-- end of what was measured -->"


def write_table(report: FidelityReport, stream: TextIO) -> None:
    """Write a report for a terminal."""
    views.print_tables(report_tables(report), stream)


def markdown(report: FidelityReport) -> str:
    """Return the report as a part of a page: sections of level 2."""
    return views.markdown([*report_tables(report), *long_tables(report)])


def place_report(page: str, report: FidelityReport) -> str:
    """Return a page with the report in its place between the marks, or the report alone where the page has none."""
    text = markdown(report)
    return views.fill_between(page, text, BEGIN, END) or f"# Fidelity\n\n{text}"
