"""What environment is wanted."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from trialbed.environments._labels import Label
from trialbed.environments._lock import python_id
from trialbed.environments._origin import adapter_requirement, own_requirement
from trialbed.environments._secrecy import without_credentials
from trialbed.environments._sources import states


@dataclass(frozen=True)
class Request:
    """A framework for which an environment is wanted.

    Attributes:
        adapter: the requirement that installs its adapter; empty for the one from where Trialbed came from.
        lock: exact requirements to install instead of resolving; empty to resolve.
        refresh: resolve again, to newer releases, though there is an environment.
    """

    label: Label
    adapter: str = ""
    lock: tuple[str, ...] = ()
    refresh: bool = False

    @cached_property
    def requirements(self) -> tuple[str, ...]:
        """What must be in the environment, as lines of a requirements file."""
        return (own_requirement(), self.adapter or adapter_requirement(self.label.name), *self.label.pins)

    @cached_property
    def key(self) -> str:
        """Tells requests apart that must not share an answer: other frameworks, interpreters, origins of Trialbed."""
        return _digest([self.label.name, self.label.release or "", python_id(), own_requirement()])

    @cached_property
    def fingerprint(self) -> str:
        """Changes when the answer must be another one: with the requirements, or with what a local one declares."""
        return _digest([*map(without_credentials, self.requirements), *states(self.requirements)])


def _digest(parts: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]
