"""Isolated environments: frameworks whose dependencies exclude one another, each in an environment of its own.

uv resolves and installs them. An environment is named for its lock, complete as soon as it is visible, and never
changed. So runs may share it, and a run that records a lock records exactly what it ran with.
"""

from trialbed.environments._adapter_code import adapter_digest
from trialbed.environments._build import resolve, with_distributions
from trialbed.environments._frameworks import (
    FIRST_PARTY,
    FrameworkSpec,
    adapter_distribution,
    adapter_info,
    check_name,
    install_command,
    runs_here,
)
from trialbed.environments._installed import EnvironmentMetadata, InstalledEnvironment
from trialbed.environments._lockfile import lock_digest, lock_text, read_lock
from trialbed.environments._profiles import expand_profiles, known_profiles, profiles_of
from trialbed.environments._provision import BuildSteps, provide
from trialbed.environments._requirements import read_requirement
from trialbed.environments._store import BuildRequest, CachedResolution, EnvironmentStore
from trialbed.environments._uv import Uv, find_uv

__all__ = [
    "FIRST_PARTY",
    "BuildRequest",
    "BuildSteps",
    "CachedResolution",
    "EnvironmentMetadata",
    "EnvironmentStore",
    "FrameworkSpec",
    "InstalledEnvironment",
    "Uv",
    "adapter_digest",
    "adapter_distribution",
    "adapter_info",
    "check_name",
    "expand_profiles",
    "find_uv",
    "install_command",
    "known_profiles",
    "lock_digest",
    "lock_text",
    "profiles_of",
    "provide",
    "read_lock",
    "read_requirement",
    "resolve",
    "runs_here",
    "with_distributions",
]
