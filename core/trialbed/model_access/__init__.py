"""A model for the parts of Trialbed that are helped by one: selectors, simulators and judges."""

from trialbed.model_access._access import ModelAccess
from trialbed.model_access._budget import ModelBudget
from trialbed.model_access._cache import CompletionCache
from trialbed.model_access._relayed import RelayedModel, run_step
from trialbed.model_access._replies import Unreadable, read_object

__all__ = [
    "CompletionCache",
    "ModelAccess",
    "ModelBudget",
    "RelayedModel",
    "Unreadable",
    "read_object",
    "run_step",
]
