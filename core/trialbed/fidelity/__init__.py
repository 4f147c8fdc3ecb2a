"""Fidelity: what each framework does to the traffic between the model, the tools and the rig, measured at the wire.

``stage`` has what is played and what it is played on, ``probe`` the process that measures itself, ``reading`` how
requests are read, and ``measurements`` the parts of a report, built on those three; ``measure`` puts a report together.

The names are loaded when they are first used: a probe, which measures a framework's memory, must not load the engine.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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
    "Behaviour": "measurements",
    "Conditions": "_conditions",
    "Difference": "reading",
    "FidelityOptions": "_options",
    "FidelityReport": "_report",
    "Figure": "measurements",
    "FrameworkFidelity": "_report",
    "Load": "measurements",
    "LoadLevel": "measurements",
    "ManyTools": "measurements",
    "MessageChange": "reading",
    "Missing": "_report",
    "PARTS": "_options",
    "Parallel": "measurements",
    "PolicyRequests": "measurements",
    "Prompt": "measurements",
    "Requests": "reading",
    "SchemaFinding": "measurements",
    "Schemas": "measurements",
    "Setting": "measurements",
    "Settings": "measurements",
    "StepLimit": "measurements",
    "TimeLimit": "measurements",
    "TurnSize": "measurements",
    "measure": "_measure",
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


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'trialbed.fidelity' has no attribute {name!r}")
    return getattr(import_module(f"trialbed.fidelity.{home}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
