"""The tables of fidelity: the reports that are kept beside their pages."""

from __future__ import annotations

from pathlib import Path

from trialbed.views import markdown
from trialbed_adapter_lab.fidelity import FidelityReport
from trialbed_adapter_lab.fidelity.views import report_tables
from trialbed_adapter_lab.report_command import read_report

FOLDER = Path(__file__).parents[1] / "reference"


def fidelity() -> str:
    """What frameworks do to the traffic between model and tools."""
    return _tables("fidelity.json")


def erring_models() -> str:
    """What users of frameworks see of models that err."""
    return _tables("erring-models.json")


def _tables(name: str) -> str:
    return markdown(report_tables(read_report(FidelityReport, FOLDER / name, "bench fidelity")))
