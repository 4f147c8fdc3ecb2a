"""The controlled profile: the SDK's loop with Trialbed's own schemas, ids and limits."""

from trialbed_openai_agents.controlled._agent import ControlledAgent

__all__ = ["ControlledAgent"]
