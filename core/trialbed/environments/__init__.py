"""Isolated environments: frameworks whose dependencies cannot live together, each in an environment of its own.

uv resolves and installs them. An environment is named for its lock, complete from the moment it can be seen, and never
changed; so that runs may share it, and a run that names a lock names what it ran with.
"""

from trialbed.environments._built import About, Built
from trialbed.environments._known import KNOWN, adapter_distribution
from trialbed.environments._labels import Label, check_name, read_label, runs_here
from trialbed.environments._lock import lock_digest, lock_text, read_lock
from trialbed.environments._origin import install_command
from trialbed.environments._progress import Progress, Silent
from trialbed.environments._provision import provide
from trialbed.environments._removal import remove
from trialbed.environments._request import Request
from trialbed.environments._requirement import read_requirement
from trialbed.environments._resolution import resolve
from trialbed.environments._shelf import Answer, Shelf
from trialbed.environments._uv import Uv, find_uv

__all__ = [
    "KNOWN",
    "About",
    "Answer",
    "Built",
    "Label",
    "Progress",
    "Request",
    "Shelf",
    "Silent",
    "Uv",
    "adapter_distribution",
    "check_name",
    "find_uv",
    "install_command",
    "lock_digest",
    "lock_text",
    "provide",
    "read_label",
    "read_lock",
    "read_requirement",
    "remove",
    "resolve",
    "runs_here",
]
