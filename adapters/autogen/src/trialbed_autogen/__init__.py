"""AutoGen AgentChat on the rig."""

from trialbed_autogen._agent import AutoGenAgent

__all__ = ["AutoGenAgent"]
