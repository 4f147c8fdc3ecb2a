"""The table of fidelity, from the report that is kept next to its page."""

from __future__ import annotations

from pathlib import Path

from trialbed.views import markdown
from trialbed_adapter_lab.fidelity.report import FidelityReport
from trialbed_adapter_lab.fidelity.table import report_tables
from trialbed_adapter_lab.report_command import read_report

MEASURED = Path(__file__).parents[1] / "reference" / "fidelity.json"


def fidelity() -> str:
    """What frameworks do to the traffic between model and tools."""
    return markdown(report_tables(read_report(FidelityReport, MEASURED, "bench fidelity")))
