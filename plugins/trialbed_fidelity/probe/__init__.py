"""The probe: a process that runs a framework's trials and measures itself meanwhile.

``python -m trialbed_fidelity.probe --framework NAME`` is started in the framework's own interpreter, where it must load
nothing that a worker would not: its memory is a figure. ``open_probe`` starts one and talks to it.
"""

from trialbed_fidelity.probe._client import Probe, open_probe
from trialbed_fidelity.probe._messages import Measured

__all__ = ["Measured", "Probe", "open_probe"]
