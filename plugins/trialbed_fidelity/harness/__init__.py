"""What is played before a framework, and what it is played on.

A ``Scene`` is one trial: a world of plain tools (``stations``) or of hard schemas (``corpus``), a policy of the
scripted model, and settings. A ``Rig`` plays it on the real server with real workers; what came of it is an
``Observed``. One endpoint refuses whatever it is asked, for scenes of a model that fails.
"""

from trialbed_fidelity.harness._corpus import HardSchema, corpus, world_of
from trialbed_fidelity.harness._refusing import REFUSING
from trialbed_fidelity.harness._rig import Observed, Rig, open_rig
from trialbed_fidelity.harness._scenes import SLOW, Scene, World, stations

__all__ = [
    "REFUSING",
    "SLOW",
    "HardSchema",
    "Observed",
    "Rig",
    "Scene",
    "World",
    "corpus",
    "open_rig",
    "stations",
    "world_of",
]
