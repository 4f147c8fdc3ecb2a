"""The common part of registrations: sent with the first trial, and kept for those that are opened like it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from trialbed.contracts import Simulator, TrialModel
from trialbed.records import Json, TrialOpening, TrialRegistration
from trialbed_server._clock import Clock
from trialbed_server.targets import TargetCatalog
from trialbed_server.trials._trial import OpenTrial
from trialbed_server.trials._worlds import HostedWorld, is_foreign

MAX_KEPT = 8 * 2**20
"""Characters of the JSON of all setups that are kept; those that were not used for longest are forgotten first."""

UNLIMITED = 3600.0
"""Seconds that one call may take where the trial has no limits."""


@dataclass(frozen=True)
class Setup:
    """The common part of some trials: a registration, and all that is made of it once for all of them.

    Attributes:
        model: makes the model of each trial; None where an endpoint answers for all.
    """

    registration: TrialRegistration
    catalog: TargetCatalog
    simulator: Simulator
    model: Callable[[TrialRegistration], TrialModel | None] | None = None

    def trial(self, opening: TrialOpening | TrialRegistration, clock: Clock) -> OpenTrial:
        """A trial that is set up like this, with a world of its own.

        Raises:
            Exception: the simulator makes no world of the state.
        """
        # The world may change its argument.
        state = json.loads(json.dumps(self.registration.state))
        own = {"trial": opening.trial, "seed": opening.seed, "fault_key": opening.fault_key, "state": state}
        registration = self.registration.model_copy(update=own)
        model = None if self.model is None else self.model(registration)
        if not is_foreign(self.simulator):
            return OpenTrial(registration, self.catalog, clock, self.simulator.world_from(state), model)
        limits = registration.limits
        hosted = HostedWorld(self.simulator, state, limits.timeout if limits else UNLIMITED)
        return OpenTrial(registration, self.catalog, clock, model=model, hosted=hosted)


class Setups:
    """The setups that are kept, by name.

    Args:
        most: characters of their JSON together.
    """

    def __init__(self, most: int = MAX_KEPT) -> None:
        self._most = most
        self._size = 0
        self._kept: dict[str, tuple[Setup, int]] = {}

    def find(self, name: str) -> Setup | None:
        """The setup of this name; None if it is not kept, or not any more."""
        found = self._kept.pop(name, None)
        if found is None:
            return None
        # Last in the order of use.
        self._kept[name] = found
        return found[0]

    def keep(self, document: Mapping[str, Json], setup: Setup) -> str:
        """Keep a setup; its name, which is the same for every registration that differs in its trial alone.

        Args:
            document: the registration as it was sent.
        """
        shared = {key: value for key, value in document.items() if key not in TrialOpening.model_fields}
        text = json.dumps(shared, sort_keys=True)
        name = hashlib.sha256(text.encode()).hexdigest()
        _, known = self._kept.pop(name, (None, 0))
        self._kept[name] = setup, len(text)
        self._size += len(text) - known
        while self._size > self._most:
            self._size -= self._kept.pop(next(iter(self._kept)))[1]
        return name
