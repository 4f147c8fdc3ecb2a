"""The driver for scripted models, such as ``scripted:gold``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from trialbed.contracts import ModelDriver, ModelInfo
from trialbed.models import unknown_model
from trialbed.records import COMMON_NAME, TrialRegistration
from trialbed.settings import RunSettings
from trialbed_scripted.policies import POLICY_NAMES

if TYPE_CHECKING:
    from trialbed.contracts import TrialModel

SCHEME = "scripted"


class ScriptedModels(ModelDriver):
    """Models that play a fixed policy over a query's expected calls. They need no key."""

    contract = "1"

    def names(self, settings: RunSettings) -> Sequence[str]:  # noqa: ARG002 - independent of settings
        """Return the names of the policies."""
        return POLICY_NAMES

    def describe(self, name: str, settings: RunSettings) -> ModelInfo:  # noqa: ARG002 - independent of settings
        """Describe a policy.

        Raises:
            UsageError: there is no such policy.
        """
        _check(name)
        return ModelInfo(told_name=COMMON_NAME, costs=False, deterministic=True, cached=False)

    def begin(self, name: str, registration: TrialRegistration) -> TrialModel:
        """Return a model that plays the policy over the trial's script."""
        from trialbed_scripted.policies import ScriptedTrialModel  # a run only describes the model

        _check(name)
        return ScriptedTrialModel(name, registration)


def _check(name: str) -> None:
    if name not in POLICY_NAMES:
        raise unknown_model(SCHEME, name, POLICY_NAMES)
