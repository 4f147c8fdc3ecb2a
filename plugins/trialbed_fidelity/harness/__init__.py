"""The harness: scenarios, and the real server and workers that they run on.

A ``Scenario`` is one trial: a world of plain tools (``stations``) or of hard schemas (``hard_world``), a policy of the
scripted model, and settings. A ``Harness`` runs it; the result is an ``Observed`` trial. One endpoint refuses every
request, for scenarios of a model that fails.
"""

from trialbed_fidelity.harness._harness import REFUSING, Harness, Observed, open_harness
from trialbed_fidelity.harness._scenarios import SLOW, Scenario, World, hard_world, stations

__all__ = [
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
