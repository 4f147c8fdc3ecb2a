"""Faults of models and endpoints, and scripts that assign them to requests."""

from trialbed_scripted.faults._atlas import atlas
from trialbed_scripted.faults._changes import put_in
from trialbed_scripted.faults._edits import EDITS
from trialbed_scripted.faults._kinds import FAULTS, Fault, FaultKind
from trialbed_scripted.faults._script import FaultScript

__all__ = ["EDITS", "FAULTS", "Fault", "FaultKind", "FaultScript", "atlas", "put_in"]
