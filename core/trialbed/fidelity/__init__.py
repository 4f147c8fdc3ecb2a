"""Fidelity: what each framework does to the traffic between the model, the tools and the rig, measured at the wire.

``measure`` puts a report together (``_measure``) from what was asked for (``_options``), under which conditions it was
measured (``_conditions``) and what became of it (``_report``). It stands on four parts:

    reading       how the requests of a framework are read and compared; no trial is played here
    stage         what is played before a framework, and what it is played on
    probe         a process that runs a framework's trials and measures itself
    measurements  what a report is made of, on those three, which know nothing of one another

Whoever is outside a part uses its public names. Each part may say that something was not measured (``_not_measured``).

The names are loaded when they are first used: a probe, which measures a framework's memory, must not load the engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trialbed import _lazy

if TYPE_CHECKING:
    from trialbed.fidelity._conditions import Conditions
    from trialbed.fidelity._measure import measure
    from trialbed.fidelity._options import PARTS, FidelityOptions
    from trialbed.fidelity._report import FidelityReport, FrameworkFidelity, Missing
    from trialbed.fidelity.measurements import (
        Behaviour,
        Figure,
        Load,
        LoadLevel,
        ManyTools,
        Parallel,
        PolicyRequests,
        Prompt,
        SchemaFinding,
        Schemas,
        Setting,
        Settings,
        StepLimit,
        TimeLimit,
        TurnSize,
    )
    from trialbed.fidelity.reading import Difference, MessageChange, Requests

_HOMES = {
    "_conditions": ("Conditions",),
    "_measure": ("measure",),
    "_options": ("PARTS", "FidelityOptions"),
    "_report": ("FidelityReport", "FrameworkFidelity", "Missing"),
    "measurements": (
        "Behaviour",
        "Figure",
        "Load",
        "LoadLevel",
        "ManyTools",
        "Parallel",
        "PolicyRequests",
        "Prompt",
        "SchemaFinding",
        "Schemas",
        "Setting",
        "Settings",
        "StepLimit",
        "TimeLimit",
        "TurnSize",
    ),
    "reading": ("Difference", "MessageChange", "Requests"),
}

__all__ = [
    "PARTS",
    "Behaviour",
    "Conditions",
    "Difference",
    "FidelityOptions",
    "FidelityReport",
    "Figure",
    "FrameworkFidelity",
    "Load",
    "LoadLevel",
    "ManyTools",
    "MessageChange",
    "Missing",
    "Parallel",
    "PolicyRequests",
    "Prompt",
    "Requests",
    "SchemaFinding",
    "Schemas",
    "Setting",
    "Settings",
    "StepLimit",
    "TimeLimit",
    "TurnSize",
    "measure",
]

__getattr__, __dir__ = _lazy.names(__name__, _HOMES)
