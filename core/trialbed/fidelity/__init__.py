"""Fidelity: what each framework does to the traffic between the model, the tools and the rig, measured at the wire.

The names are loaded when they are first used: a probe, which measures a framework's memory, must not load the engine.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trialbed.fidelity._behaviour import Behaviour
    from trialbed.fidelity._conditions import Conditions
    from trialbed.fidelity._conversation import MessageChange
    from trialbed.fidelity._differences import Difference
    from trialbed.fidelity._figures import Figure
    from trialbed.fidelity._limits import StepLimit, TimeLimit
    from trialbed.fidelity._load import Load, LoadLevel
    from trialbed.fidelity._many import ManyTools
    from trialbed.fidelity._measure import measure
    from trialbed.fidelity._options import PARTS, FidelityOptions
    from trialbed.fidelity._parallel import Parallel
    from trialbed.fidelity._prompt import Prompt, TurnSize
    from trialbed.fidelity._report import FidelityReport, FrameworkFidelity, Missing
    from trialbed.fidelity._requests import Requests
    from trialbed.fidelity._schemas import SchemaFinding, Schemas
    from trialbed.fidelity._settings import Setting, Settings
    from trialbed.fidelity._turns import PolicyRequests

_HOMES = {
    "Behaviour": "_behaviour",
    "Conditions": "_conditions",
    "Difference": "_differences",
    "FidelityOptions": "_options",
    "FidelityReport": "_report",
    "Figure": "_figures",
    "FrameworkFidelity": "_report",
    "Load": "_load",
    "LoadLevel": "_load",
    "ManyTools": "_many",
    "MessageChange": "_conversation",
    "Missing": "_report",
    "PARTS": "_options",
    "Parallel": "_parallel",
    "PolicyRequests": "_turns",
    "Prompt": "_prompt",
    "Requests": "_requests",
    "SchemaFinding": "_schemas",
    "Schemas": "_schemas",
    "Setting": "_settings",
    "Settings": "_settings",
    "StepLimit": "_limits",
    "TimeLimit": "_limits",
    "TurnSize": "_prompt",
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
