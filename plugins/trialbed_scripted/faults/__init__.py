"""A vendor that misbehaves by script: for tests of clients, ours and others'."""

from trialbed_scripted.faults._names import ANSWERS, FAULTS, FaultDescription
from trialbed_scripted.faults._script import Fault, FaultScript
from trialbed_scripted.faults._server import FaultServer

__all__ = ["ANSWERS", "FAULTS", "Fault", "FaultDescription", "FaultScript", "FaultServer"]
