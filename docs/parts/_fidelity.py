"""The table of fidelity, from the report that is kept next to its page."""

from __future__ import annotations

from pathlib import Path

from parts._markdown import escaped, table
from trialbed.views import markdown
from trialbed_adapter_lab.fidelity import FidelityReport, cell, report_tables
from trialbed_adapter_lab.probe import probes_of
from trialbed_adapter_lab.probes import history
from trialbed_adapter_lab.report_command import read_report

MEASURED = Path(__file__).parents[1] / "reference" / "fidelity.json"


def fidelity() -> str:
    """What frameworks do to the traffic between model and tools."""
    return markdown(report_tables(_measured()))


def conversations(framework: str) -> str:
    """What a framework keeps of a conversation, from the same report."""
    adapters = [one for one in _measured().adapters if one.label.partition(":")[0] == framework]
    found = [one.findings for one in adapters]
    rows = []
    for probe in probes_of(history):
        figures = next((one.seen for own in found if (one := own.get(probe.name)) and isinstance(one.seen, dict)), None)
        for key in figures if probe.level == "info" and figures else ("",):
            cells = (escaped(cell(own.get(probe.name), key)) for own in found)
            rows.append((key or escaped(probe.summary.rstrip(".")), *cells))
    return table(("", *(f"`{one.label}`" for one in adapters)), rows)


def _measured() -> FidelityReport:
    return read_report(FidelityReport, MEASURED, "bench fidelity")
