"""Policies: scripted models over the right calls of a query."""

from trialbed_scripted.policies._ending import as_demanded
from trialbed_scripted.policies._histories import TextHistories
from trialbed_scripted.policies._model import PolicyModel, estimate_usage, policy
from trialbed_scripted.policies._policies import POLICIES, PolicyInput, policy_names
from trialbed_scripted.policies._tools import Tools

__all__ = [
    "POLICIES",
    "PolicyInput",
    "PolicyModel",
    "TextHistories",
    "Tools",
    "as_demanded",
    "estimate_usage",
    "policy",
    "policy_names",
]
