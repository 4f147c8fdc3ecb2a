"""The probe: a process that runs a framework's trials and measures itself meanwhile.

``open_probe`` starts ``python -m trialbed_adapter_lab.fidelity.probe --framework NAME`` in the framework's own
interpreter, and talks to it. There it must load nothing that a worker would not: its memory is a figure.
"""

from trialbed_adapter_lab.fidelity.probe._client import Probe, open_probe
from trialbed_adapter_lab.fidelity.probe._messages import Measured

__all__ = ["Measured", "Probe", "open_probe"]
