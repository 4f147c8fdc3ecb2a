"""A driver of models; each place to change is marked REPLACE."""

from __future__ import annotations

from collections.abc import Sequence

from trialbed.contracts import ModelDriver, ModelInfo, ModelQuestion, ModelReply, TrialModel
from trialbed.errors import UsageError
from trialbed.records import TrialRegistration
from trialbed.settings import RunSettings
from trialbed.wire import ModelAnswer

NAMES = ("polite",)


class NewPluginTrialModel(TrialModel):
    """A model as it answers one trial."""

    async def answer(self, question: ModelQuestion) -> ModelReply:
        """Answer one request."""
        # REPLACE: whatever is asked, the answer is the same.
        return ModelReply(ModelAnswer(content="I am sorry, I do not know."))


class NewPluginModels(ModelDriver):
    """The models of the scheme: ``--model new-plugin:polite``."""

    contract = "1"

    def names(self, settings: RunSettings) -> Sequence[str]:
        """The names that can be listed, without the scheme."""
        return NAMES

    def describe(self, name: str, settings: RunSettings) -> ModelInfo:
        """Describe a model; starts nothing."""
        if name not in NAMES:
            raise UsageError(f"there is no model new-plugin:{name}; there is {', '.join(NAMES)}")
        return ModelInfo(identity="1", costs=False, deterministic=True)

    def begin(self, name: str, registration: TrialRegistration) -> TrialModel:
        """The model for one trial."""
        return NewPluginTrialModel()
