"""A vendor that misbehaves by script: for tests of clients, ours and others'."""

from trialbed_server.faults._names import ANSWERS, FAULTS, FaultDescription
from trialbed_server.faults._script import Fault, FaultScript
from trialbed_server.faults._server import FaultServer, serve_faults

__all__ = ["ANSWERS", "FAULTS", "Fault", "FaultDescription", "FaultScript", "FaultServer", "serve_faults"]
