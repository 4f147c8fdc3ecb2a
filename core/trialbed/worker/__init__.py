"""The worker: a process that runs the trials of one framework, one at a time.

``python -m trialbed.worker --framework NAME`` exchanges JSON lines over its standard streams (``_messages``); an
executor starts it with ``worker_command`` in ``worker_environment``.
"""

from trialbed.worker._command import CommandSpec
from trialbed.worker._environment import WORKER_MARK, worker_command, worker_environment
from trialbed.worker._loop import load_agent
from trialbed.worker._messages import (
    Begin,
    ClockSwitch,
    Command,
    Done,
    Failed,
    Hello,
    Ready,
    Reply,
    Started,
    read_command,
    read_reply,
    written,
)
from trialbed.worker._supervisor import SUPERVISED, supervised_command
from trialbed.worker._trial import WorkerTrial

__all__ = [
    "SUPERVISED",
    "WORKER_MARK",
    "Begin",
    "ClockSwitch",
    "Command",
    "CommandSpec",
    "Done",
    "Failed",
    "Hello",
    "Ready",
    "Reply",
    "Started",
    "WorkerTrial",
    "load_agent",
    "read_command",
    "read_reply",
    "supervised_command",
    "worker_command",
    "worker_environment",
    "written",
]
