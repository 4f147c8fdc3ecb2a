"""A run as it is asked for, before anything is looked up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from trialbed.records import Environment
from trialbed.run_settings import RunSettings


@dataclass(frozen=True, kw_only=True)
class RunOptions(RunSettings):
    """The settings of a run, and what the code that asks for it adds.

    Attributes:
        server_port: the port of a server that is started; 0 for any.
        environments: framework -> its own environment, for those that do not run in this interpreter.
        fresh: discard an unfinished run of the same configuration instead of resuming it.
    """

    server_port: int = 0
    environments: Mapping[str, Environment] = field(default_factory=dict)
    fresh: bool = False
