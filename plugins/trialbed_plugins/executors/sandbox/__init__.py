"""Sandboxes for workers: what keeps an adapter that is not trusted from the machine and from the run's data.

An executor starts a worker with what ``launch`` returns. ``check_sandbox`` tries a sandbox before a run depends on it.
"""

from trialbed_plugins.executors.sandbox._launch import Launch, launch
from trialbed_plugins.executors.sandbox._server import ServerAddress
from trialbed_plugins.executors.sandbox._trying import check_sandbox

__all__ = ["Launch", "ServerAddress", "check_sandbox", "launch"]
