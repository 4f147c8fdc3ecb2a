"""Sandboxes for workers: what keeps an adapter that is not trusted from the machine and from the run's data.

An executor starts a worker with what ``launch`` returns. ``check_sandbox`` tries a sandbox before a run depends on it.
"""

from trialbed.sandbox._launch import Launch, Sandbox, launch
from trialbed.sandbox._modes import NONE
from trialbed.sandbox._server import ServerAddress
from trialbed.sandbox._trying import check_sandbox

__all__ = ["NONE", "Launch", "Sandbox", "ServerAddress", "check_sandbox", "launch"]
