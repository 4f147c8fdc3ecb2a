"""The harness: scenarios, and the real server and workers that they run on.

A ``Scenario`` is one trial: a world of plain tools (``stations``) or of hard schemas (``hard_world``), a policy of the
scripted model, and settings. A ``Harness`` runs it; the result is an ``Observed`` trial. One endpoint errs: it
refuses requests or answers what no model should, for scenarios of a model that fails.
"""

from trialbed_adapter_lab.fidelity.harness._endpoint import FAULTY, FAULTY_ANSWERS, FINAL_TEXT, MARK, REFUSING
from trialbed_adapter_lab.fidelity.harness._harness import Harness, Observed, open_harness
from trialbed_adapter_lab.fidelity.harness._scenarios import SLOW, Scenario, World, hard_world, stations

__all__ = [
    "FAULTY",
    "FAULTY_ANSWERS",
    "FINAL_TEXT",
    "MARK",
    "REFUSING",
    "SLOW",
    "Harness",
    "Observed",
    "Scenario",
    "World",
    "hard_world",
    "open_harness",
    "stations",
]
