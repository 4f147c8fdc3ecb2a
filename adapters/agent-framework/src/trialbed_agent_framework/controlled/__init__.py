"""The controlled profile: the framework's loop, and the requests that are the same for all frameworks."""

from trialbed_agent_framework.controlled._agent import ControlledAgent

__all__ = ["ControlledAgent"]
